/** All tenants with their use, and the creation of one. */
import { Alert, Anchor, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { Link } from 'wouter'
import { post, type Session } from '../api/client'
import * as manage from '../api/manage'
import { Failure, Loading } from '../parts/frames'
import { Plus } from '../parts/icons'
import { StateLabel } from '../parts/states'
import { LocalTable, type LocalColumn } from '../parts/table'
import { Day } from '../parts/values'
import { texts } from '../texts'
import { SecretDialog } from './parts'

const words = texts.manage.tenants

export function TenantsTab({ session }: { session: Session }) {
  const tenants = useQuery(manage.tenants)
  const [isCreating, creating] = useDisclosure()
  const [token, setToken] = useState('')
  if (tenants.isPending) return <Loading />
  if (tenants.isLoadingError) return <Failure error={tenants.error} retry={() => void tenants.refetch()} />
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed">{words.count(tenants.data.length)}</Text>
        <Button leftSection={<Plus />} onClick={creating.open}>
          {words.create}
        </Button>
      </Group>
      <LocalTable label={texts.manage.tabs.tenants} name="tenants" columns={COLUMNS} rows={tenants.data} keyOf={(tenant) => tenant.id} minWidth="62rem" />
      {isCreating && <CreateTenant session={session} onCreated={(created) => setToken(created.token)} onClose={creating.close} />}
      {token && <SecretDialog title={words.firstToken} secret={token} onClose={() => setToken('')} />}
    </Stack>
  )
}

const stateOf = (tenant: manage.Tenant) => (tenant.suspendedAt ? words.suspended : words.active)

const COLUMNS: LocalColumn<manage.Tenant>[] = [
  {
    id: 'name',
    label: words.columns.name,
    isHeader: true,
    value: (tenant) => tenant.name,
    cell: (tenant) => (
      <Anchor component={Link} href={`/manage/tenants/${tenant.id}`} fw={600} size="sm">
        {tenant.name}
      </Anchor>
    ),
  },
  { id: 'usage', label: words.columns.usage, width: '20rem', cell: (tenant) => <Usage tenant={tenant.id} /> },
  { id: 'plan', label: words.columns.plan, width: '15.5rem', cell: (tenant) => <PlanOf tenant={tenant.id} /> },
  {
    id: 'state',
    label: words.columns.state,
    width: '8rem',
    value: stateOf,
    facet: (word) => word,
    cell: (tenant) => <StateLabel tone={tenant.suspendedAt ? 'warn' : 'good'} word={stateOf(tenant)} />,
  },
  {
    id: 'created',
    label: words.columns.created,
    width: '8.5rem',
    value: (tenant) => tenant.createdAt,
    cell: (tenant) => <Day value={tenant.id === manage.DEFAULT_TENANT ? null : tenant.createdAt} />,
  },
]

function Usage({ tenant }: { tenant: string }) {
  const settings = useQuery(manage.crawlSettings(tenant))
  return settings.data && texts.manage.usage(settings.data.currentUsage.pages, settings.data.currentUsage.channels)
}

function PlanOf({ tenant }: { tenant: string }) {
  const settings = useQuery(manage.crawlSettings(tenant))
  return settings.data && words.plan(texts.manage.plans[settings.data.plan], settings.data.effectiveMaxPages)
}

interface CreateTenantProps {
  session: Session
  onCreated: (tenant: manage.TenantCreated) => void
  onClose: () => void
}

function CreateTenant({ session, onCreated, onClose }: CreateTenantProps) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const create = useMutation({
    mutationFn: () => post<manage.TenantCreated>(manage.TENANTS, { name: name.trim(), ownerEmail: email.trim() || null }),
    onSuccess: (tenant) => {
      void client.invalidateQueries({ queryKey: ['tenants'] })
      onCreated(tenant)
      onClose()
    },
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    if (name.trim()) create.mutate()
  }
  // The token of the tenant would be the first, and the server would not answer this browser any more.
  const wouldLockOut = !session.needs_token && !session.csrf_token
  return (
    <Modal opened onClose={onClose} title={words.create} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
      {wouldLockOut ? (
        <Stack>
          <Alert color="yellow" variant="outline">
            {words.tokenFirst}
          </Alert>
          <Button component={Link} href="/account">
            {words.goToTokens}
          </Button>
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <TextInput label={words.name} value={name} onChange={(event) => setName(event.currentTarget.value)} maxLength={100} required data-autofocus />
            <TextInput label={words.owner} description={words.ownerHint} type="email" value={email} onChange={(event) => setEmail(event.currentTarget.value)} />
            {create.error && <Failure error={create.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                {texts.manage.cancel}
              </Button>
              <Button type="submit" loading={create.isPending}>
                {words.create}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  )
}
