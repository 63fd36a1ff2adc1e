/** All tenants with their use, and the creation of one. */
import { Alert, Anchor, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { Link } from 'wouter'
import { post, type Session } from '../api/client'
import * as manage from '../api/manage'
import { Failure, Loading } from '../parts/frames'
import { Plus } from '../parts/icons'
import { StateLabel } from '../parts/states'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { DataTable, Pages, SecretDialog, TIME, useListPage } from './parts'

const words = texts.manage.tenants

export function TenantsTab({ session }: { session: Session }) {
  const tenants = useQuery(manage.tenants(useListPage(manage.PER_PAGE)))
  const listed = tenants.data?.tenants ?? []
  const settings = useQueries({ queries: listed.map((tenant) => manage.crawlSettings(tenant.id)) })
  const [isCreating, creating] = useDisclosure()
  const [token, setToken] = useState('')
  if (tenants.isPending) return <Loading />
  if (tenants.error) return <Failure error={tenants.error} retry={() => void tenants.refetch()} />
  const columns = [
    { label: words.columns.name },
    { label: words.columns.usage, width: '17.5rem' },
    { label: words.columns.plan, width: '15.5rem' },
    { label: words.columns.state, width: '8.5rem' },
    { label: words.columns.created, width: TIME },
  ]
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed">{words.count(tenants.data.pagination.total)}</Text>
        <Button leftSection={<Plus />} onClick={creating.open}>
          {words.create}
        </Button>
      </Group>
      <DataTable label={texts.manage.tabs.tenants} columns={columns} minWidth="64.5rem">
        {listed.map((tenant, index) => (
          <Row key={tenant.id} tenant={tenant} settings={settings[index]?.data} />
        ))}
      </DataTable>
      <Pages total={tenants.data.pagination.total} perPage={manage.PER_PAGE} />
      {isCreating && <CreateTenant session={session} onCreated={(created) => setToken(created.token)} onClose={creating.close} />}
      {token && <SecretDialog title={words.firstToken} secret={token} onClose={() => setToken('')} />}
    </Stack>
  )
}

function Row({ tenant, settings }: { tenant: manage.Tenant; settings: manage.CrawlSettings | undefined }) {
  const isSuspended = tenant.suspendedAt !== null
  return (
    <tr>
      <th scope="row">
        <Anchor component={Link} href={`/manage/tenants/${tenant.id}`} fw={600}>
          {tenant.name}
        </Anchor>
      </th>
      <td className="one-line-cell">{settings && texts.manage.usage(settings.currentUsage.pages, settings.currentUsage.channels)}</td>
      <td className="one-line-cell">{settings && words.plan(settings.plan, settings.effectiveMaxPages)}</td>
      <td>
        <StateLabel tone={isSuspended ? 'warn' : 'good'} word={isSuspended ? words.suspended : words.active} />
      </td>
      <td>
        <Time value={tenant.id === manage.DEFAULT_TENANT ? null : tenant.createdAt} />
      </td>
    </tr>
  )
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
