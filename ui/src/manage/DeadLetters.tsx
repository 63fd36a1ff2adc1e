/** Webhooks of all tenants with events that could not be delivered, and their replay. */
import { Button, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { post } from '../api/client'
import * as manage from '../api/manage'
import { Empty, Failure, Loading } from '../parts/frames'
import { LocalTable, type LocalColumn } from '../parts/table'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { TIME } from './parts'

const words = texts.manage.deadLetters

export function DeadLettersTab() {
  const client = useQueryClient()
  const letters = useQuery(manage.deadLetters)
  const replay = useMutation({
    mutationFn: (webhook: manage.DeadLetters) =>
      post<{ replayed: number }>(manage.tenantPath(webhook.tenantId, `dead-letters/${encodeURIComponent(webhook.webhookId)}/replay`)),
    onSettled: () => client.invalidateQueries({ queryKey: manage.deadLetters.queryKey }),
  })
  if (letters.isPending) return <Loading />
  if (letters.isLoadingError) return <Failure error={letters.error} retry={() => void letters.refetch()} />
  const columns: LocalColumn<manage.DeadLetters>[] = [
    { id: 'host', label: words.columns.host, isHeader: true, value: (webhook) => webhook.host, cell: (webhook) => webhook.host },
    { id: 'tenant', label: words.columns.tenant, width: '11rem', value: (webhook) => webhook.tenantName, facet: (name) => name, cell: (webhook) => webhook.tenantName },
    { id: 'events', label: words.columns.events, width: '6rem', isNumber: true, value: (webhook) => webhook.dead, cell: (webhook) => webhook.dead.toLocaleString() },
    { id: 'oldest', label: words.columns.oldest, width: TIME, value: (webhook) => webhook.oldestAt, cell: (webhook) => <Time value={webhook.oldestAt} /> },
    { id: 'newest', label: words.columns.newest, width: TIME, value: (webhook) => webhook.newestAt, cell: (webhook) => <Time value={webhook.newestAt} /> },
    {
      id: 'replay',
      label: words.columns.replay,
      width: '9.5rem',
      cell: (webhook) =>
        webhook.enabled ? (
          <Button
            size="xs"
            variant="default"
            loading={replay.isPending && replay.variables.webhookId === webhook.webhookId}
            onClick={() => replay.mutate(webhook)}
            aria-label={words.replayTo(webhook.host)}
          >
            {words.replay}
          </Button>
        ) : (
          <Text size="sm">{words.disabled}</Text>
        ),
    },
  ]
  const status = replay.data && <Text role="status">{words.replayed(replay.data.replayed)}</Text>
  if (letters.data.webhooks.length === 0) {
    return (
      <Stack>
        {status}
        <Empty title={words.none} hint={words.noneHint} />
      </Stack>
    )
  }
  return (
    <Stack>
      <Text>{words.hint}</Text>
      {status}
      {replay.error && <Failure error={replay.error} />}
      <LocalTable
        label={texts.manage.tabs['dead-letters']}
        name="dead-letters"
        minWidth="62rem"
        columns={columns}
        rows={letters.data.webhooks}
        keyOf={(webhook) => webhook.webhookId}
      />
    </Stack>
  )
}
