/** The tokens of the tenant: create, rotate, revoke. The text of a new token is shown once. */
import { Alert, Button, Checkbox, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { post, remove, signIn, type Session } from '../api/client'
import * as manage from '../api/manage'
import * as queries from '../api/queries'
import { Empty, Failure, Loading } from '../parts/frames'
import { Plus } from '../parts/icons'
import { StateLabel } from '../parts/states'
import { LocalTable, type LocalColumn } from '../parts/table'
import { Day, Time } from '../parts/values'
import { texts } from '../texts'
import { Confirmation, SecretDialog, TIME } from './parts'

const words = texts.account.tokens
const DAYS = [30, 90, 365]
const DAY_MS = 86_400_000
const GRACES = [0, 3600, 86_400, 604_800]
const SCOPES_OF_A_CHANNEL: readonly manage.TokenScope[] = ['read', 'search', 'crawl', 'manage:channel']

export function TokensTab({ session }: { session: Session }) {
  const client = useQueryClient()
  const tokens = useQuery(manage.tokens)
  const [isCreating, creating] = useDisclosure()
  const [rotated, setRotated] = useState<manage.Token>()
  const [revoked, setRevoked] = useState<manage.Token>()
  const [secret, setSecret] = useState('')
  const refresh = () => client.invalidateQueries({ queryKey: ['tokens'] })
  const revoke = useMutation({
    mutationFn: (token: manage.Token) => remove<manage.Token>(`${manage.TOKENS}/${token.id}`),
    onSuccess: () => setRevoked(undefined),
    onSettled: refresh,
  })
  async function show(created: manage.TokenCreated) {
    setSecret(created.token)
    creating.close()
    setRotated(undefined)
    if (!session.needs_token && !session.csrf_token) {
      // The first token: from now on the server refuses requests without one.
      client.setQueryData(queries.session.queryKey, await signIn(created.token))
    }
    await refresh()
  }
  if (tokens.isPending) return <Loading />
  if (tokens.isLoadingError) return <Failure error={tokens.error} retry={() => void tokens.refetch()} />
  const listed = tokens.data
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed">{words.hint}</Text>
        <Button leftSection={<Plus />} onClick={creating.open}>
          {words.create}
        </Button>
      </Group>
      {listed.length === 0 ? (
        <Empty title={words.none} hint={session.needs_token ? undefined : words.noneOpen} />
      ) : (
        <LocalTable
          label={texts.account.tabs.tokens}
          name="tokens"
          minWidth="62rem"
          columns={columns(setRotated, (token) => {
            revoke.reset()
            setRevoked(token)
          })}
          rows={listed}
          keyOf={(token) => token.id}
          download={(token) => token}
        />
      )}
      {isCreating && <CreateToken session={session} onCreated={show} onClose={creating.close} />}
      {rotated && <RotateToken token={rotated} onCreated={show} onClose={() => setRotated(undefined)} />}
      {revoked && (
        <Confirmation
          title={words.revokeQuestion(revoked.name)}
          text={words.revokeText}
          action={words.revoke}
          isBusy={revoke.isPending}
          error={revoke.error}
          onConfirm={() => revoke.mutate(revoked)}
          onClose={() => setRevoked(undefined)}
        />
      )}
      {secret && <SecretDialog title={words.created} secret={secret} onClose={() => setSecret('')} />}
    </Stack>
  )
}

function stateOf(token: manage.Token): 'valid' | 'expired' | 'revoked' {
  return token.revokedAt ? 'revoked' : token.isValid ? 'valid' : 'expired'
}

function columns(rotate: (token: manage.Token) => void, revoke: (token: manage.Token) => void): LocalColumn<manage.Token>[] {
  return [
    {
      id: 'name',
      label: words.columns.name,
      isHeader: true,
      value: (token) => token.name,
      cell: (token) => (
        <>
          <Text fw={600} size="sm">
            {token.name}
          </Text>
          <Text size="xs" c="dimmed" className="one-line" title={token.prefix}>
            {token.prefix}
          </Text>
        </>
      ),
    },
    {
      id: 'permits',
      label: words.columns.scopes,
      width: '13rem',
      value: (token) => token.scopes.join(', '),
      cell: (token) => (
        <>
          {token.kind !== 'api' && <Text size="sm">{words.kinds[token.kind]}</Text>}
          <Text size={token.kind === 'api' ? 'sm' : 'xs'} c={token.kind === 'api' ? undefined : 'dimmed'}>
            {token.scopes.join(', ')}
          </Text>
          {token.channelId && (
            <Text size="xs" c="dimmed">
              {words.oneChannel}
            </Text>
          )}
        </>
      ),
    },
    {
      id: 'state',
      label: words.columns.state,
      width: '8rem',
      value: stateOf,
      facet: (state) => words.states[state as 'valid'],
      cell: (token) => <StateLabel tone={token.isValid ? 'good' : 'plain'} word={words.states[stateOf(token)]} />,
    },
    {
      id: 'used',
      label: words.columns.used,
      width: TIME,
      value: (token) => token.lastUsedAt,
      cell: (token) => (
        <>
          {token.lastUsedAt ? <Time value={token.lastUsedAt} /> : words.never}
          {token.lastAddress && (
            <Text size="xs" c="dimmed">
              {token.lastAddress}
            </Text>
          )}
        </>
      ),
    },
    {
      id: 'expires',
      label: words.columns.expires,
      width: '8.5rem',
      value: (token) => token.expiresAt,
      cell: (token) => (token.expiresAt ? <Day value={token.expiresAt} /> : words.noExpiry),
    },
    {
      id: 'actions',
      label: words.columns.actions,
      width: '12.8rem',
      cell: (token) =>
        token.isValid && (
          <Group gap="xs">
            <Button size="compact-xs" variant="default" onClick={() => rotate(token)} aria-label={words.rotateNamed(token.name)}>
              {words.rotate}
            </Button>
            <Button size="compact-xs" variant="default" onClick={() => revoke(token)} aria-label={words.revokeNamed(token.name)}>
              {words.revoke}
            </Button>
          </Group>
        ),
    },
  ]
}

interface NewTokenProps {
  onCreated: (token: manage.TokenCreated) => Promise<void>
  onClose: () => void
}

function CreateToken({ session, onCreated, onClose }: NewTokenProps & { session: Session }) {
  const isFirst = !session.needs_token
  const isOperator = session.scopes.includes('admin')
  const [name, setName] = useState('')
  const [kind, setKind] = useState<manage.TokenKind>(isFirst && isOperator ? 'admin' : 'api')
  const [scopes, setScopes] = useState<string[]>([])
  const [channel, setChannel] = useState('')
  const [user, setUser] = useState('')
  const [days, setDays] = useState('')
  const channels = useQuery(manage.channelChoices)
  const users = useQuery(manage.users)
  const create = useMutation({
    mutationFn: () =>
      post<manage.TokenCreated>(manage.TOKENS, {
        name: name.trim(),
        kind,
        scopes: kind === 'api' ? scopes.filter((scope) => offered.some((each) => each === scope)) : [],
        channelId: channel,
        userId: user,
        expiresAt: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
      }),
    onSuccess: onCreated,
  })
  const kinds: manage.TokenKind[] = isOperator ? ['api', 'mcp', 'admin'] : ['api', 'mcp']
  const offered = channel ? SCOPES_OF_A_CHANNEL : session.scopes.filter((scope) => scope !== 'admin')
  function submit(event: FormEvent) {
    event.preventDefault()
    if (name.trim()) create.mutate()
  }
  return (
    <Modal opened onClose={onClose} title={words.create} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
      <form onSubmit={submit}>
        <Stack>
          {isFirst && (
            <Alert color="yellow" variant="outline">
              {words.first}
            </Alert>
          )}
          <TextInput label={words.name} description={words.nameHint} value={name} onChange={(event) => setName(event.currentTarget.value)} maxLength={100} required data-autofocus />
          <NativeSelect
            label={words.kind}
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as manage.TokenKind)}
            data={kinds.map((value) => ({ value, label: words.kinds[value] }))}
          />
          {kind === 'api' && (
            <Checkbox.Group label={words.scopes} description={words.scopesHint} value={scopes} onChange={setScopes}>
              <Stack gap={6} mt={6}>
                {offered.map((scope) => (
                  <Checkbox key={scope} value={scope} label={words.scopeWords[scope]} />
                ))}
              </Stack>
            </Checkbox.Group>
          )}
          {kind !== 'admin' && (channels.data?.channels.length ?? 0) > 0 && (
            <NativeSelect
              label={words.channel}
              value={channel}
              onChange={(event) => setChannel(event.currentTarget.value)}
              data={[{ value: '', label: words.everyChannel }, ...(channels.data?.channels ?? []).map(({ id, title }) => ({ value: id, label: title }))]}
            />
          )}
          {kind !== 'admin' && (users.data?.length ?? 0) > 0 && (
            <NativeSelect
              label={words.user}
              description={words.userHint}
              value={user}
              onChange={(event) => setUser(event.currentTarget.value)}
              data={[{ value: '', label: words.noUser }, ...(users.data ?? []).map(({ id, email }) => ({ value: id, label: email }))]}
            />
          )}
          <NativeSelect
            label={words.expires}
            value={days}
            onChange={(event) => setDays(event.currentTarget.value)}
            data={[{ value: '', label: words.noExpiry }, ...DAYS.map((count) => ({ value: String(count), label: words.days(count) }))]}
          />
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

function RotateToken({ token, onCreated, onClose }: NewTokenProps & { token: manage.Token }) {
  const [grace, setGrace] = useState('86400')
  const rotate = useMutation({
    mutationFn: () => post<manage.TokenCreated>(`${manage.TOKENS}/${token.id}/rotate`, { graceSeconds: Number(grace) }),
    onSuccess: onCreated,
  })
  return (
    <Modal opened onClose={onClose} title={words.rotateQuestion(token.name)} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
      <Stack>
        <Text>{words.rotateText}</Text>
        <NativeSelect
          label={words.grace}
          value={grace}
          onChange={(event) => setGrace(event.currentTarget.value)}
          data={GRACES.map((seconds) => ({ value: String(seconds), label: words.graces[seconds] ?? '' }))}
        />
        {rotate.error && <Failure error={rotate.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {texts.manage.cancel}
          </Button>
          <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
            {words.rotate}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
