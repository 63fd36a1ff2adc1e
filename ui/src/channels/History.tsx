/** The crawls of a channel, newest first; two of them can be compared. */
import { Anchor, Button, Checkbox, Stack, Text } from '@mantine/core'
import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import * as api from '../api/channels'
import type { Channel, Job, SiteChanges } from '../api/channels'
import { post, type Summary } from '../api/client'
import { isActive as isActiveState } from '../api/follow'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading, Section } from '../parts/frames'
import { RunStateLabel } from '../parts/states'
import { LocalTable, type LocalColumn } from '../parts/table'
import { bytes, duration, shownPath, Time } from '../parts/values'
import { texts } from '../texts'

const COMPARED = 2
/** Crawls whose number of found URLs is shown: each takes a request. */
const MOST_SUMMARIES = 50

export function HistoryTab({ channel, isActive }: { channel: Channel; isActive: boolean }) {
  const [parameters, change] = useAddressState()
  const client = useQueryClient()
  const chosen = parameters.getAll('compare').slice(0, COMPARED)
  const jobs = useQuery(api.jobs(channel.id))
  const listed = jobs.data ?? []
  const summaries = useQueries({
    queries: listed.slice(0, MOST_SUMMARIES).map((job) => ({ ...queries.summary(job.id), staleTime: isActiveState(job.status) ? 0 : 60_000 })),
  })
  const repeat = useMutation({
    mutationFn: () => post<Job>(api.channelPath(channel.id, 'webcrawl/start')),
    onSettled: () => client.invalidateQueries({ queryKey: ['channel', channel.id] }),
  })

  if (jobs.isPending) return <Loading />
  if (jobs.isLoadingError) return <Failure error={jobs.error} retry={() => void jobs.refetch()} />
  if (listed.length === 0) return <Empty title={texts.channels.never} hint={texts.channel.neverHint} />
  const summaryOf = new Map(summaries.flatMap((each) => (each.data ? [[each.data.id, each.data] as const] : [])))
  function choose(job: string, isChosen: boolean) {
    change({ compare: isChosen ? [...chosen, job].slice(-COMPARED) : chosen.filter((each) => each !== job) })
  }
  const compared = listed.filter((job) => chosen.includes(job.id))
  return (
    <Stack>
      {repeat.error && <Failure error={repeat.error} />}
      <LocalTable
        label={texts.channel.tabs.history}
        name={`${channel.site}-crawls`}
        columns={columns({ chosen, choose, summaryOf, isActive, repeat: () => repeat.mutate() })}
        rows={listed}
        keyOf={(job) => job.id}
        minWidth="64.5rem"
        download={flat}
      />
      {compared.length === COMPARED ? (
        <Comparison site={channel.site} newer={compared[0] as Job} older={compared[1] as Job} summaryOf={summaryOf} />
      ) : (
        listed.length > 1 && (
          <Text size="sm" c="dimmed">
            {texts.history.chooseTwo}
          </Text>
        )
      )}
    </Stack>
  )
}

/** A crawl as a flat row, without the settings that it began with. */
function flat({ crawlConfig: _, statistics, ...job }: Job): object {
  return { ...job, ...statistics }
}

interface ColumnsProps {
  chosen: readonly string[]
  choose: (job: string, isChosen: boolean) => void
  summaryOf: ReadonlyMap<string, Summary>
  isActive: boolean
  repeat: () => void
}

function columns({ chosen, choose, summaryOf, isActive, repeat }: ColumnsProps): LocalColumn<Job>[] {
  const words = texts.history.columns
  const found = (job: Job) => summaryOf.get(job.id)?.counts.total_urls ?? null
  const number = (id: string, label: string, width: string, value: (job: Job) => number | null): LocalColumn<Job> => ({
    id,
    label,
    width,
    isNumber: true,
    value,
    cell: (job) => value(job)?.toLocaleString() ?? '',
  })
  return [
    {
      id: 'compare',
      label: words.compare,
      width: '5.4rem',
      cell: (job) => (
        <Checkbox
          checked={chosen.includes(job.id)}
          onChange={(event) => choose(job.id, event.currentTarget.checked)}
          aria-label={texts.history.compare(new Date(job.createdAt).toLocaleString())}
        />
      ),
    },
    {
      id: 'started',
      label: words.started,
      isHeader: true,
      value: (job) => job.startedAt ?? job.createdAt,
      cell: (job) => (
        <>
          <Anchor component={Link} href={`/runs/${job.id}`} size="sm">
            <Time value={job.startedAt ?? job.createdAt} />
          </Anchor>
          <Text size="xs" c="dimmed" className="one-line" title={job.triggeredBy}>
            {texts.history.triggers[job.trigger]}
            {job.trigger === 'manual' && ` (${job.triggeredBy})`}
          </Text>
        </>
      ),
    },
    {
      id: 'state',
      label: words.state,
      width: '8.2rem',
      value: (job) => job.status,
      facet: (state) => texts.runState[state as Job['status']],
      cell: (job) => <RunStateLabel state={job.status} />,
    },
    { id: 'took', label: words.took, width: '5.4rem', isNumber: true, value: (job) => job.statistics.durationSeconds, cell: (job) => took(job) },
    number('found', words.found, '5.2rem', found),
    number('read', words.read, '5rem', (job) => job.pagesCrawled),
    number('changed', words.changed, '6.2rem', (job) => job.changedPages),
    number('failed', words.failed, '5.2rem', (job) => job.statistics.pagesFailed),
    {
      id: 'media',
      label: words.media,
      width: '6.4rem',
      isNumber: true,
      value: (job) => job.mediaDownloaded,
      cell: (job) => (
        <>
          {job.mediaDownloaded.toLocaleString()}
          {job.duplicatesSkipped > 0 && (
            <Text size="xs" c="dimmed">
              {texts.history.duplicates(job.duplicatesSkipped)}
            </Text>
          )}
        </>
      ),
    },
    {
      id: 'repeat',
      label: words.actions,
      width: '6rem',
      cell: (job) => (
        <Button variant="default" size="compact-sm" disabled={isActive} title={isActive ? texts.channel.busy : texts.history.repeatHint} onClick={repeat}>
          {isActiveState(job.status) ? texts.history.running : texts.history.repeat}
        </Button>
      ),
    },
  ]
}

function took(job: Job): string {
  const seconds = job.statistics.durationSeconds
  return seconds === null ? texts.none : duration(1000 * seconds)
}

interface ComparisonProps {
  site: string
  newer: Job
  older: Job
  summaryOf: ReadonlyMap<string, Summary>
}

/** The figures of two crawls, and which pages changed between them. */
function Comparison({ site, newer, older, summaryOf }: ComparisonProps) {
  const since = older.completedAt ?? older.createdAt
  const until = newer.completedAt ?? new Date().toISOString()
  const changes = useQuery(api.siteChanges(site, since, until))
  const words = texts.history.columns
  const found = (job: Job) => summaryOf.get(job.id)?.counts.total_urls ?? 0
  const figures: [string, (job: Job) => number, (value: number) => string][] = [
    [words.found, found, (value) => value.toLocaleString()],
    [words.read, (job) => job.pagesCrawled, (value) => value.toLocaleString()],
    [words.changed, (job) => job.changedPages, (value) => value.toLocaleString()],
    [words.failed, (job) => job.statistics.pagesFailed, (value) => value.toLocaleString()],
    [words.media, (job) => job.mediaDownloaded, (value) => value.toLocaleString()],
    [words.duplicates, (job) => job.duplicatesSkipped, (value) => value.toLocaleString()],
    [texts.channel.bandwidth, (job) => job.statistics.bandwidthBytes, bytes],
    [words.took, (job) => 1000 * (job.statistics.durationSeconds ?? 0), duration],
  ]
  return (
    <Section title={texts.history.comparison}>
      <Stack>
        <div className="table-frame" role="region" aria-label={texts.history.comparison} tabIndex={0}>
          <table className="rows" style={{ minWidth: '42rem' }}>
            <thead>
              <tr>
                <th scope="col">
                  <span>{texts.history.figure}</span>
                </th>
                {[older, newer].map((job) => (
                  <th scope="col" className="number" key={job.id}>
                    <span>
                      <Time value={job.startedAt ?? job.createdAt} />
                    </span>
                  </th>
                ))}
                <th scope="col" className="number">
                  <span>{texts.history.difference}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {figures.map(([name, value, shown]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td className="number">{shown(value(older))}</td>
                  <td className="number">{shown(value(newer))}</td>
                  <td className="number">{difference(value(newer) - value(older), shown)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {changes.error ? <Failure error={changes.error} /> : changes.data ? <Changes changes={changes.data} /> : <Loading height="3rem" />}
      </Stack>
    </Section>
  )
}

function difference(value: number, shown: (value: number) => string): string {
  if (value === 0) return '±0'
  return `${value > 0 ? '+' : '−'}${shown(Math.abs(value))}`
}

function Changes({ changes }: { changes: SiteChanges }) {
  if (changes.changes.length === 0) return <Text c="dimmed">{texts.history.noChanges}</Text>
  return (
    <div>
      <Text fw={600} mb={4}>
        {texts.history.changes(changes.total)}
      </Text>
      <ul style={{ margin: 0, paddingLeft: '1.2rem', maxHeight: '16rem', overflowY: 'auto' }} tabIndex={0} aria-label={texts.history.changes(changes.total)}>
        {changes.changes.map((change) => (
          <li key={change.url}>
            <Text component="span" size="sm" fw={600}>
              {texts.history.kinds[change.change] ?? change.change}
            </Text>{' '}
            <Text component="span" size="sm" title={change.url}>
              {shownPath(change.url)}
            </Text>
          </li>
        ))}
      </ul>
    </div>
  )
}
