/** Webhooks of the tenant: endpoints, a test message, the delivery log with replays, and secrets that are shown once. */
import { Accordion, Alert, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import * as api from '../api/channels'
import type { TestResult, Webhook, WebhookWithSecret } from '../api/channels'
import { patch, post, remove } from '../api/client'
import { Facts, Failure, Loading, message, Section } from '../parts/frames'
import { StateLabel, type Tone } from '../parts/states'
import { LocalTable, type LocalColumn } from '../parts/table'
import { duration, shownUrl, Time } from '../parts/values'
import { texts } from '../texts'
import { SecretOnce } from '../parts/SecretOnce'

const words = texts.webhooks
const TYPES = ['run.started', 'run.completed', 'run.failed', 'run.cancelled', 'page.new', 'page.changed', 'page.gone', 'deletions.held', 'webhook.disabled'] as const
type Delivery = api.DeliveryList['deliveries'][number]
const TONES: Record<Delivery['state'], Tone> = { PENDING: 'busy', DELIVERED: 'good', DEAD: 'bad' }

function path(webhook: string, part = ''): string {
  return `${api.WEBHOOKS}/${encodeURIComponent(webhook)}${part && `/${part}`}`
}

export function WebhooksSection() {
  const webhooks = useQuery(api.webhooks)
  const [created, setCreated] = useState<WebhookWithSecret>()
  return (
    <Section title={words.title}>
      <Stack>
        <Text size="sm">{words.hint}</Text>
        {webhooks.isLoadingError ? (
          <Failure error={webhooks.error} retry={() => void webhooks.refetch()} />
        ) : webhooks.isPending ? (
          <Loading height="4rem" />
        ) : (
          <>
            {created && <SecretOnce secret={created.secret} />}
            {webhooks.data.webhooks.length > 0 && (
              <Accordion variant="contained" order={3} keepMounted={false}>
                {webhooks.data.webhooks.map((webhook) => (
                  <Accordion.Item key={webhook.id} value={webhook.id}>
                    <Accordion.Control>
                      <Group gap="sm">
                        <span style={{ overflowWrap: 'anywhere' }}>{shownUrl(webhook.url)}</span>
                        <WebhookState webhook={webhook} />
                      </Group>
                    </Accordion.Control>
                    <Accordion.Panel>
                      <WebhookDetail webhook={webhook} onSecret={setCreated} />
                    </Accordion.Panel>
                  </Accordion.Item>
                ))}
              </Accordion>
            )}
            <NewWebhook onCreated={setCreated} />
          </>
        )}
      </Stack>
    </Section>
  )
}

function WebhookState({ webhook }: { webhook: Webhook }) {
  if (!webhook.enabled) return <StateLabel tone="plain" word={words.disabled} />
  if (webhook.failingSince) return <StateLabel tone="bad" word={words.failing} />
  return <StateLabel tone="good" word={words.enabled} />
}

function useRefresh() {
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: ['webhooks'] })
}

function NewWebhook({ onCreated }: { onCreated: (webhook: WebhookWithSecret) => void }) {
  const refresh = useRefresh()
  const [url, setUrl] = useState('')
  const [types, setTypes] = useState<readonly string[]>(['run.completed', 'run.failed'])
  const create = useMutation({
    mutationFn: () => post<WebhookWithSecret>(api.WEBHOOKS, { url: url.trim(), types }),
    onSuccess: async (webhook) => {
      setUrl('')
      onCreated(webhook)
      await refresh()
    },
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    create.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={words.url}
          placeholder={words.placeholder}
          type="url"
          maw="36rem"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
          error={create.error ? message(create.error) : undefined}
        />
        <Group gap="sm" role="group" aria-label={words.events}>
          <Text size="sm" c="dimmed" aria-hidden>
            {words.events}
          </Text>
          {TYPES.map((type) => (
            <Checkbox
              key={type}
              size="xs"
              label={type}
              checked={types.includes(type)}
              onChange={(event) => {
                const isOn = event.currentTarget.checked
                setTypes(TYPES.filter((each) => (each === type ? isOn : types.includes(each))))
              }}
            />
          ))}
        </Group>
        <Group gap="sm">
          <Button type="submit" variant="default" disabled={url.trim() === ''} loading={create.isPending}>
            {words.create}
          </Button>
          {types.length === 0 && (
            <Text size="sm" c="dimmed">
              {words.everyEvent}
            </Text>
          )}
        </Group>
      </Stack>
    </form>
  )
}

type Action = 'test' | 'rotate' | 'replay' | 'enable' | 'disable' | 'delete'

function WebhookDetail({ webhook, onSecret }: { webhook: Webhook; onSecret: (webhook: WebhookWithSecret) => void }) {
  const refresh = useRefresh()
  const [result, setResult] = useState<TestResult>()
  const [replayed, setReplayed] = useState<number>()
  const act = useMutation({
    mutationFn: async (action: Action) => {
      if (action === 'test') setResult(await post<TestResult>(path(webhook.id, 'test')))
      else if (action === 'rotate') onSecret(await post<WebhookWithSecret>(path(webhook.id, 'rotate'), {}))
      else if (action === 'replay') setReplayed((await post<{ replayed: number }>(path(webhook.id, 'replay'), {})).replayed)
      else if (action === 'delete') await remove(path(webhook.id))
      else await patch(path(webhook.id), { enabled: action === 'enable' })
    },
    onSettled: refresh,
  })
  const actions: Action[] = ['test', 'replay', 'rotate', webhook.enabled ? 'disable' : 'enable', 'delete']
  return (
    <Stack>
      <Facts
        items={[
          [words.events, webhook.types.join(', ') || words.everyEvent],
          [words.created, <Time value={webhook.createdAt} />],
          webhook.disabledReason !== null && [words.disabled, webhook.disabledReason],
          webhook.failingSince !== null && [words.failing, <Time value={webhook.failingSince} />],
          webhook.oldSecretUntil !== null && [words.oldSecret, <Time value={webhook.oldSecretUntil} />],
        ]}
      />
      <Group gap="xs">
        {actions.map((action) => (
          <Button
            key={action}
            size="xs"
            variant={action === 'delete' ? 'filled' : 'default'}
            color={action === 'delete' ? 'red.9' : undefined}
            loading={act.isPending && act.variables === action}
            onClick={() => act.mutate(action)}
          >
            {words.actions[action]}
          </Button>
        ))}
      </Group>
      {act.error && <Failure error={act.error} />}
      {result && (
        <Alert color={result.accepted ? 'green' : 'red'} variant="outline" role="status">
          {result.accepted ? words.testGood(result.status ?? 0, result.elapsedMs) : words.testBad(result.error ?? '')}
          {result.answer && <Text size="sm">{result.answer}</Text>}
        </Alert>
      )}
      {replayed !== undefined && (
        <Text size="sm" role="status">
          {words.replayed(replayed)}
        </Text>
      )}
      <Deliveries webhook={webhook} />
    </Stack>
  )
}

const STATES: readonly ('' | Delivery['state'])[] = ['', 'DELIVERED', 'PENDING', 'DEAD']

function Deliveries({ webhook }: { webhook: Webhook }) {
  const refresh = useRefresh()
  const [state, setState] = useState<(typeof STATES)[number]>('')
  const deliveries = useQuery(api.deliveries(webhook.id, state))
  const replay = useMutation({
    mutationFn: (event: string) => post(path(webhook.id, `deliveries/${encodeURIComponent(event)}/replay`)),
    onSettled: refresh,
  })
  if (deliveries.isPending) return <Loading height="4rem" />
  if (deliveries.isLoadingError) return <Failure error={deliveries.error} retry={() => void deliveries.refetch()} />
  return (
    <Stack gap="xs">
      <Group gap={6} role="group" aria-label={words.deliveries}>
        <Text size="sm" c="dimmed" aria-hidden>
          {words.deliveries}
        </Text>
        {STATES.map((each) => (
          <button key={each} type="button" className="facet" aria-pressed={state === each} onClick={() => setState(each)}>
            {words.states[each]}
          </button>
        ))}
      </Group>
      {replay.error && <Failure error={replay.error} />}
      {deliveries.data.deliveries.length === 0 ? (
        <Text size="sm" c="dimmed">
          {words.noDeliveries}
        </Text>
      ) : (
        <LocalTable
          label={words.deliveries}
          name={`deliveries-${webhook.id}`}
          isOneOfSeveral
          download={(delivery) => delivery}
          columns={columns((event) => replay.mutate(event))}
          rows={deliveries.data.deliveries}
          keyOf={(delivery) => delivery.eventId}
          minWidth="54rem"
        />
      )}
    </Stack>
  )
}

function columns(replay: (event: string) => void): LocalColumn<Delivery>[] {
  const names = words.columns
  return [
    { id: 'time', label: names.time, width: '11.8rem', isHeader: true, value: (delivery) => delivery.createdAt, cell: (delivery) => <Time value={delivery.createdAt} /> },
    { id: 'type', label: names.type, value: (delivery) => delivery.type, facet: (type) => type, cell: (delivery) => delivery.type },
    {
      id: 'state',
      label: names.state,
      width: '8rem',
      cell: (delivery) => <StateLabel tone={TONES[delivery.state]} word={words.states[delivery.state]} />,
    },
    { id: 'attempts', label: names.attempts, width: '6rem', isNumber: true, value: (delivery) => delivery.attempts, cell: (delivery) => delivery.attempts },
    {
      id: 'answer',
      label: names.answer,
      cell: (delivery) => (
        <span className="one-line" title={delivery.error ?? delivery.answer ?? ''}>
          {[delivery.status, delivery.elapsedMs !== null && duration(delivery.elapsedMs), delivery.error].filter(Boolean).join(' · ')}
        </span>
      ),
    },
    {
      id: 'replay',
      label: names.actions,
      width: '6.5rem',
      cell: (delivery) => (
        <button type="button" className="link-button" onClick={() => replay(delivery.eventId)}>
          {words.replayOne}
        </button>
      ),
    },
  ]
}
