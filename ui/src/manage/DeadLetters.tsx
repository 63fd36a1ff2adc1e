/** Webhooks of all tenants with events that could not be delivered, and their replay. */
import { Button, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { post } from '../api/client'
import * as manage from '../api/manage'
import { Empty, Failure, Loading } from '../parts/frames'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { DataTable, TIME } from './parts'

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
  if (letters.error) return <Failure error={letters.error} retry={() => void letters.refetch()} />
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
      <DataTable
        label={texts.manage.tabs['dead-letters']}
        minWidth="62rem"
        columns={[
          { label: words.columns.host },
          { label: words.columns.tenant, width: '11rem' },
          { label: words.columns.events, width: '6rem', isNumber: true },
          { label: words.columns.oldest, width: TIME },
          { label: words.columns.newest, width: TIME },
          { label: words.columns.replay, width: '9.5rem' },
        ]}
      >
        {letters.data.webhooks.map((webhook) => (
          <tr key={webhook.webhookId}>
            <th scope="row">{webhook.host}</th>
            <td>{webhook.tenantName}</td>
            <td className="number">{webhook.dead.toLocaleString()}</td>
            <td>
              <Time value={webhook.oldestAt} />
            </td>
            <td>
              <Time value={webhook.newestAt} />
            </td>
            <td>
              {webhook.enabled ? (
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
              )}
            </td>
          </tr>
        ))}
      </DataTable>
    </Stack>
  )
}
