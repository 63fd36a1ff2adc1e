/** The users of the tenant and their roles. */
import { Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { patch, post, remove } from '../api/client'
import * as manage from '../api/manage'
import { Empty, Failure, Loading } from '../parts/frames'
import { Plus } from '../parts/icons'
import { LocalTable, type LocalColumn } from '../parts/table'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { Confirmation, TIME } from './parts'

const words = texts.account.users
const ROLES = Object.keys(words.roles) as manage.Role[]
const CHOICES = ROLES.map((value) => ({ value, label: words.roles[value] }))

export function UsersTab() {
  const client = useQueryClient()
  const users = useQuery(manage.users)
  const [isCreating, creating] = useDisclosure()
  const [deleted, setDeleted] = useState<manage.User>()
  const refresh = () => client.invalidateQueries({ queryKey: ['users'] })
  const change = useMutation({
    mutationFn: ({ id, role }: { id: string; role: manage.Role }) => patch<manage.User>(`${manage.USERS}/${id}`, { role }),
    onSettled: refresh,
  })
  const drop = useMutation({
    mutationFn: (user: manage.User) => remove(`${manage.USERS}/${user.id}`),
    onSuccess: () => setDeleted(undefined),
    onSettled: refresh,
  })
  if (users.isPending) return <Loading />
  if (users.isLoadingError) return <Failure error={users.error} retry={() => void users.refetch()} />
  const listed = users.data
  const columns: LocalColumn<manage.User>[] = [
    { id: 'email', label: words.columns.email, isHeader: true, value: (user) => user.email, cell: (user) => user.email },
    {
      id: 'role',
      label: words.columns.role,
      width: '16rem',
      value: (user) => user.role,
      facet: (role) => (words.roles[role as manage.Role] ?? role).split(':')[0] ?? role,
      cell: (user) => (
        <NativeSelect
          size="xs"
          aria-label={words.roleOf(user.email)}
          value={user.role}
          disabled={change.isPending}
          onChange={(event) => change.mutate({ id: user.id, role: event.currentTarget.value as manage.Role })}
          data={CHOICES}
        />
      ),
    },
    { id: 'created', label: words.columns.created, width: TIME, value: (user) => user.createdAt, cell: (user) => <Time value={user.createdAt} /> },
    {
      id: 'actions',
      label: words.columns.actions,
      width: '8rem',
      cell: (user) => (
        <Button
          size="xs"
          variant="default"
          aria-label={words.deleteNamed(user.email)}
          onClick={() => {
            drop.reset()
            setDeleted(user)
          }}
        >
          {words.delete}
        </Button>
      ),
    },
  ]
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed">{words.hint}</Text>
        <Button leftSection={<Plus />} onClick={creating.open}>
          {words.create}
        </Button>
      </Group>
      {change.error && <Failure error={change.error} />}
      {listed.length === 0 ? (
        <Empty title={words.none} hint={words.noneHint} />
      ) : (
        <LocalTable label={texts.account.tabs.users} name="users" minWidth="54rem" columns={columns} rows={listed} keyOf={(user) => user.id} />
      )}
      {isCreating && <CreateUser onClose={creating.close} onCreated={refresh} />}
      {deleted && (
        <Confirmation
          title={words.deleteQuestion(deleted.email)}
          text={words.deleteText}
          action={words.delete}
          isBusy={drop.isPending}
          error={drop.error}
          onConfirm={() => drop.mutate(deleted)}
          onClose={() => setDeleted(undefined)}
        />
      )}
    </Stack>
  )
}

function CreateUser({ onClose, onCreated }: { onClose: () => void; onCreated: () => Promise<void> }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<manage.Role>('member')
  const create = useMutation({
    mutationFn: () => post<manage.User>(manage.USERS, { email: email.trim(), role }),
    onSuccess: async () => {
      onClose()
      await onCreated()
    },
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    if (email.trim()) create.mutate()
  }
  return (
    <Modal opened onClose={onClose} title={words.create} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput label={words.email} type="email" value={email} onChange={(event) => setEmail(event.currentTarget.value)} required data-autofocus />
          <NativeSelect label={words.columns.role} value={role} onChange={(event) => setRole(event.currentTarget.value as manage.Role)} data={CHOICES} />
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
    </Modal>
  )
}
