/** All runs, newest first, with their progress. */
import { Anchor, Button, Group, Progress, Stack, Text } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { every, get, type Run, type RunList, type RunState, type Summary } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { DownloadButtons } from '../parts/downloads'
import { FacetButtons, useAddressState } from '../parts/filters'
import { Empty, Failure, Loading, Screen } from '../parts/frames'
import { Plus } from '../parts/icons'
import { errorCount, RunStateLabel, WarningLabel } from '../parts/states'
import { DataTable, ListBar, Pager, type Column } from '../parts/table'
import { between, Time } from '../parts/values'
import { texts } from '../texts'

const STATES: readonly RunState[] = ['RUNNING', 'QUEUED', 'COMPLETED', 'FAILED', 'INTERRUPTED', 'CANCELLED']

export function RunsScreen() {
  const [parameters, change] = useAddressState()
  const state = STATES.find((each) => each === parameters.get('state')) ?? ''
  const text = parameters.get('q') ?? ''
  const sort = parameters.get('sort') ?? 'created_at'
  const order = parameters.get('order') === 'asc' ? 'asc' : 'desc'
  const offset = Math.max(0, Number(parameters.get('offset')) || 0)
  const runs = useQuery(queries.runs({ status: state, q: text, sort, order }, offset))
  const listed = runs.data?.runs ?? []
  const summaries = useQueries({
    queries: listed.map((run) => ({
      ...queries.summary(run.id),
      refetchInterval: isActive(run.status) ? 2000 : (false as const),
      staleTime: isActive(run.status) ? 0 : 60_000,
    })),
  })

  if (runs.isPending) return <Loading />
  if (runs.isLoadingError) return <Failure error={runs.error} retry={() => void runs.refetch()} />
  const { total, has_more } = runs.data.pagination
  const summaryOf = new Map(summaries.flatMap((each) => (each.data ? [[each.data.id, each.data] as const] : [])))
  const isFiltered = state !== '' || text !== ''
  return (
    <Screen
      title={texts.runs.title}
      actions={
        <Button component={Link} href="/new?once=1" leftSection={<Plus />}>
          {texts.runs.new}
        </Button>
      }
    >
      <Stack gap="sm">
        <ListBar
          label={texts.runs.filterText}
          text={text}
          setText={(q) => change({ q, offset: '' })}
          range={{ offset, shown: listed.length, total }}
          isFiltered={isFiltered}
          clear={() => change({ q: '', state: '', offset: '' })}
          downloads={<DownloadButtons name="runs" load={() => allRuns({ status: state, q: text, sort, order })} />}
        >
          <FacetButtons
            label={texts.runs.filter}
            counts={runs.data.by_status}
            chosen={state ? [state] : []}
            word={(name) => texts.runState[name as RunState] ?? name}
            onChange={(chosen) => change({ state: chosen.at(-1) ?? '', offset: '' })}
          />
        </ListBar>
        {total === 0 ? (
          <Empty title={isFiltered ? texts.runs.empty : texts.runs.none} />
        ) : (
          <DataTable
            label={texts.runs.title}
            columns={columns(summaryOf)}
            rows={listed}
            keyOf={(run) => run.id}
            minWidth="58rem"
            sort={sort}
            isDescending={order === 'desc'}
            onSort={(by) => change({ sort: by, order: sort === by && order === 'desc' ? 'asc' : '', offset: '' })}
          />
        )}
        <Pager offset={offset} size={queries.RUNS_PER_PAGE} hasMore={has_more} onChange={(to) => change({ offset: to })} />
      </Stack>
    </Screen>
  )
}

/** All runs of the list as flat rows. */
async function allRuns(filter: queries.RunFilter): Promise<object[]> {
  const listed = await every<Run>(async (offset) => {
    const part = await get<RunList>('/crawl-runs', { ...filter, limit: 1000, offset })
    return { items: part.runs, hasMore: part.pagination.has_more }
  })
  return listed.map(({ run_config, allowed_hosts, ...run }) => ({ ...run, allowed_hosts: allowed_hosts.join(' '), ...run_config }))
}

function columns(summaryOf: ReadonlyMap<string, Summary>): Column<Run>[] {
  const words = texts.runs.columns
  const latest = (run: Run) => summaryOf.get(run.id) ?? run
  return [
    {
      id: 'site',
      label: words.site,
      sort: 'site',
      isHeader: true,
      cell: (run) => (
        <>
          {/* A failed run opens where its reasons are. */}
          <Anchor component={Link} href={`/runs/${run.id}${latest(run).status === 'FAILED' ? '/errors' : ''}`} fw={600} size="sm">
            {run.site}
          </Anchor>
          <Text size="xs" c="dimmed" className="one-line" title={run.seed_url ?? ''}>
            {run.seed_url}
          </Text>
        </>
      ),
    },
    {
      id: 'state',
      label: words.state,
      width: '13.5rem',
      cell: (run) => {
        const errors = errorCount(summaryOf.get(run.id)?.counts)
        return (
          <Group gap={4}>
            <RunStateLabel state={latest(run).status} />
            {errors > 0 && <WarningLabel word={texts.runs.warnings(errors)} />}
          </Group>
        )
      },
    },
    { id: 'pages', label: words.pages, width: '11.5rem', cell: (run) => <PagesOf summary={summaryOf.get(run.id)} /> },
    {
      id: 'started',
      label: words.started,
      sort: 'created_at',
      width: '12rem',
      cell: (run) => <Time value={run.started_at ?? run.created_at} />,
    },
    {
      id: 'took',
      label: words.took,
      sort: 'duration',
      width: '7.5rem',
      isNumber: true,
      cell: (run) => between(latest(run).started_at, latest(run).finished_at),
    },
  ]
}

function PagesOf({ summary }: { summary: Summary | undefined }) {
  if (!summary) return null
  return (
    <>
      <span style={{ fontVariantNumeric: 'tabular-nums' }}>{texts.runs.of(summary.counts.pages, summary.counts.total_urls)}</span>
      {isActive(summary.status) && <RunProgress summary={summary} />}
    </>
  )
}

/** How far the run is with what it has found so far. */
export function RunProgress({ summary }: { summary: Summary }) {
  const { counts, run_config } = summary
  const waiting = counts.queued + counts.in_progress + (counts.by_status['DISCOVERED'] ?? 0)
  const done = counts.total_urls - waiting
  const budget = run_config.maxPages ? (100 * counts.pages) / run_config.maxPages : 0
  const share = counts.total_urls === 0 ? 0 : Math.max((100 * done) / counts.total_urls, budget)
  return <Progress value={Math.min(100, share)} size="sm" mt={4} aria-label={texts.run.progress(counts.pages, counts.total_urls, true)} />
}
