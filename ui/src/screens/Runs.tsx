/** All runs, newest first, with their progress. */
import { Anchor, Button, Group, Pagination, Progress, Text } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Run, RunState, Summary } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading, Screen } from '../parts/frames'
import { Plus } from '../parts/icons'
import { errorCount, RunStateLabel, WarningLabel } from '../parts/states'
import { between, Time } from '../parts/values'
import { texts } from '../texts'

const STATES: readonly RunState[] = ['RUNNING', 'QUEUED', 'COMPLETED', 'FAILED', 'INTERRUPTED', 'CANCELLED']

export function RunsScreen() {
  const [parameters, change] = useAddressState()
  const state = STATES.find((each) => each === parameters.get('state')) ?? ''
  const position = Math.max(1, Number(parameters.get('page')) || 1)
  const runs = useQuery(queries.runs(state, (position - 1) * queries.RUNS_PER_PAGE))
  const listed = runs.data?.runs ?? []
  const summaries = useQueries({
    queries: listed.map((run) => ({
      ...queries.summary(run.id),
      refetchInterval: isActive(run.status) ? 2000 : (false as const),
      staleTime: isActive(run.status) ? 0 : 60_000,
    })),
  })

  if (runs.isPending) return <Loading />
  if (runs.error) return <Failure error={runs.error} retry={() => void runs.refetch()} />
  const { total } = runs.data.pagination
  const pages = Math.ceil(total / queries.RUNS_PER_PAGE)
  return (
    <Screen
      title={texts.runs.title}
      actions={
        <Button component={Link} href="/new?once=1" leftSection={<Plus />}>
          {texts.runs.new}
        </Button>
      }
    >
      <Group gap={6} role="group" aria-label={texts.runs.filter}>
        <StateButton word={texts.runs.all} isChosen={state === ''} choose={() => change({ state: '', page: '' })} />
        {STATES.map((each) => (
          <StateButton
            key={each}
            word={texts.runState[each]}
            isChosen={state === each}
            choose={() => change({ state: each, page: '' })}
          />
        ))}
      </Group>
      {total === 0 ? (
        <Empty title={state === '' ? texts.runs.none : texts.runs.empty}>
          {state !== '' && (
            <Button variant="default" onClick={() => change({ state: '' })}>
              {texts.runs.showAll}
            </Button>
          )}
        </Empty>
      ) : (
        <div className="table-frame" role="region" aria-label={texts.runs.title} tabIndex={0}>
          <table className="rows" style={{ minWidth: '44rem' }}>
            <thead>
              <tr>
                <th style={{ width: '30%' }}><span>{texts.runs.columns.site}</span></th>
                <th style={{ width: '18%' }}><span>{texts.runs.columns.state}</span></th>
                <th style={{ width: '24%' }}><span>{texts.runs.columns.pages}</span></th>
                <th style={{ width: '18%' }}><span>{texts.runs.columns.started}</span></th>
                <th style={{ width: '10%' }}><span>{texts.runs.columns.took}</span></th>
              </tr>
            </thead>
            <tbody>
              {listed.map((run, index) => (
                <RunRow key={run.id} run={run} summary={summaries[index]?.data} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages > 1 && (
        <Pagination
          total={pages}
          value={position}
          onChange={(page) => change({ page: page === 1 ? '' : String(page) })}
          getControlProps={(control) => ({ 'aria-label': control })}
        />
      )}
    </Screen>
  )
}

function StateButton({ word, isChosen, choose }: { word: string; isChosen: boolean; choose: () => void }) {
  return (
    <button type="button" className="facet" aria-pressed={isChosen} onClick={choose}>
      {word}
    </button>
  )
}

function RunRow({ run, summary }: { run: Run; summary: Summary | undefined }) {
  const shown = summary ?? run
  const errors = summary ? errorCount(summary.counts) : 0
  // A failed run opens where its reasons are.
  const href = `/runs/${run.id}${shown.status === 'FAILED' ? '/errors' : ''}`
  return (
    <tr>
      <th scope="row">
        <Anchor component={Link} href={href} fw={600}>
          {run.site}
        </Anchor>
        <Text size="xs" c="dimmed" className="one-line" title={run.seed_url ?? ''}>
          {run.seed_url}
        </Text>
      </th>
      <td>
        <Group gap={4}>
          <RunStateLabel state={shown.status} />
          {errors > 0 && <WarningLabel word={texts.runs.warnings(errors)} />}
        </Group>
      </td>
      <td>
        {summary && (
          <>
            <span style={{ fontVariantNumeric: 'tabular-nums' }}>
              {texts.runs.of(summary.counts.pages, summary.counts.total_urls)}
            </span>
            {isActive(summary.status) && <RunProgress summary={summary} />}
          </>
        )}
      </td>
      <td>
        <Time value={run.started_at ?? run.created_at} />
      </td>
      <td>{between(shown.started_at, shown.finished_at)}</td>
    </tr>
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
