/** Runs that are crawled or wait, workers with what they have leased, and events that wait for webhooks. */
import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Session } from '../api/client'
import * as manage from '../api/manage'
import { Failure, Figure, Loading, Section } from '../parts/frames'
import { RunStateLabel } from '../parts/states'
import { duration, Time } from '../parts/values'
import { texts } from '../texts'
import { DataTable, TIME } from './parts'

const words = texts.manage.queues

export function QueuesTab({ session }: { session: Session }) {
  const queues = useQuery(manage.queues)
  if (queues.isPending) return <Loading />
  if (queues.error) return <Failure error={queues.error} retry={() => void queues.refetch()} />
  const { runs, active, workers, webhooks } = queues.data
  const sites = new Map(active.map((run) => [run.id, run.site]))
  const count = new Set(workers.map((lease) => lease.worker)).size
  return (
    <Stack>
      <div className="figures">
        <Figure label={words.running} value={(runs.RUNNING ?? 0).toLocaleString()} />
        <Figure label={words.waiting} value={(runs.QUEUED ?? 0).toLocaleString()} />
        <Figure label={words.busyWorkers} value={count.toLocaleString()} />
        <Figure label={words.webhooks} value={webhooks.queues.toLocaleString()} hint={words.endpoints(webhooks.endpoints)} />
        <Figure label={words.overdue} value={webhooks.overdueSeconds > 0 ? duration(1000 * webhooks.overdueSeconds) : texts.none} />
      </div>
      <Section title={words.active}>
        {active.length === 0 ? (
          <Text size="sm" c="dimmed">{words.noRun}</Text>
        ) : (
          <DataTable
            label={words.active}
            minWidth="46rem"
            columns={[
              { label: words.columns.site },
              { label: words.columns.tenant, width: '14rem' },
              { label: words.columns.state, width: '9rem' },
              { label: words.columns.since, width: TIME },
            ]}
          >
            {active.map((run) => (
              <tr key={run.id}>
                <th scope="row">
                  {run.tenantId === session.tenant ? (
                    <Anchor component={Link} href={`/runs/${run.id}`}>
                      {run.site}
                    </Anchor>
                  ) : (
                    run.site
                  )}
                </th>
                <td>{run.tenantName}</td>
                <td>
                  <RunStateLabel state={run.status} />
                </td>
                <td>
                  <Time value={run.startedAt ?? run.createdAt} />
                </td>
              </tr>
            ))}
          </DataTable>
        )}
      </Section>
      <Section title={words.workers}>
        {workers.length > 0 && (
          <DataTable
            label={words.workers}
            minWidth="46rem"
            columns={[
              { label: words.columns.worker },
              { label: words.columns.site, width: '16rem' },
              { label: words.columns.urls, width: '6rem', isNumber: true },
              { label: words.columns.lease, width: TIME },
            ]}
          >
            {workers.map((lease) => (
              <tr key={`${lease.worker} ${lease.runId}`}>
                <th scope="row" style={{ overflowWrap: 'anywhere' }}>
                  {lease.worker}
                </th>
                <td>{sites.get(lease.runId) ?? lease.runId}</td>
                <td className="number">{lease.urls.toLocaleString()}</td>
                <td>
                  <Time value={lease.leaseUntil} />
                </td>
              </tr>
            ))}
          </DataTable>
        )}
        <Text size="sm" c="dimmed" mt={workers.length > 0 ? 'xs' : 0}>
          {words.workersHint}
        </Text>
      </Section>
    </Stack>
  )
}
