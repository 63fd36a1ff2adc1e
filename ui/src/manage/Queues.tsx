/** Runs that are crawled or wait, workers with what they have leased, and events that wait for webhooks. */
import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Session } from '../api/client'
import * as manage from '../api/manage'
import { Failure, Figure, Loading, Section } from '../parts/frames'
import { RunStateLabel } from '../parts/states'
import { LocalTable, type LocalColumn } from '../parts/table'
import { duration, Time } from '../parts/values'
import { texts } from '../texts'
import { TIME } from './parts'

const words = texts.manage.queues
type ActiveRun = manage.Queues['active'][number]
type Lease = manage.Queues['workers'][number]

export function QueuesTab({ session }: { session: Session }) {
  const queues = useQuery(manage.queues)
  if (queues.isPending) return <Loading />
  if (queues.isLoadingError) return <Failure error={queues.error} retry={() => void queues.refetch()} />
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
          <LocalTable
            label={words.active}
            name="active-runs"
            isOneOfSeveral
            minWidth="46rem"
            columns={runColumns(session)}
            rows={active}
            keyOf={(run) => run.id}
          />
        )}
      </Section>
      <Section title={words.workers}>
        {workers.length > 0 && (
          <LocalTable
            label={words.workers}
            name="workers"
            isOneOfSeveral
            minWidth="46rem"
            columns={leaseColumns(sites)}
            rows={workers}
            keyOf={(lease) => `${lease.worker} ${lease.runId}`}
          />
        )}
        <Text size="sm" c="dimmed" mt={workers.length > 0 ? 'xs' : 0}>
          {words.workersHint}
        </Text>
      </Section>
    </Stack>
  )
}

function runColumns(session: Session): LocalColumn<ActiveRun>[] {
  return [
    {
      id: 'site',
      label: words.columns.site,
      isHeader: true,
      value: (run) => run.site,
      cell: (run) =>
        run.tenantId === session.tenant ? (
          <Anchor component={Link} href={`/runs/${run.id}`} size="sm">
            {run.site}
          </Anchor>
        ) : (
          run.site
        ),
    },
    { id: 'tenant', label: words.columns.tenant, width: '14rem', value: (run) => run.tenantName, facet: (name) => name, cell: (run) => run.tenantName },
    {
      id: 'state',
      label: words.columns.state,
      width: '9rem',
      value: (run) => run.status,
      facet: (state) => texts.runState[state as ActiveRun['status']],
      cell: (run) => <RunStateLabel state={run.status} />,
    },
    {
      id: 'since',
      label: words.columns.since,
      width: TIME,
      value: (run) => run.startedAt ?? run.createdAt,
      cell: (run) => <Time value={run.startedAt ?? run.createdAt} />,
    },
  ]
}

function leaseColumns(sites: ReadonlyMap<string, string>): LocalColumn<Lease>[] {
  const site = (lease: Lease) => sites.get(lease.runId) ?? lease.runId
  return [
    { id: 'worker', label: words.columns.worker, isHeader: true, value: (lease) => lease.worker, cell: (lease) => lease.worker },
    { id: 'site', label: words.columns.site, width: '16rem', value: site, cell: site },
    { id: 'urls', label: words.columns.urls, width: '6rem', isNumber: true, value: (lease) => lease.urls, cell: (lease) => lease.urls.toLocaleString() },
    { id: 'lease', label: words.columns.lease, width: TIME, value: (lease) => lease.leaseUntil, cell: (lease) => <Time value={lease.leaseUntil} /> },
  ]
}
