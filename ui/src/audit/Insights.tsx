/** Figures about a site after a run, and how they changed. */
import { Alert, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Audit } from '../api/client'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { Explained, Rows, Trend } from '../parts/figures'
import { moment, Time } from '../parts/values'
import { texts } from '../texts'
import { Age, Duplicates, Machines, Structured, Thin, Translations } from './contentInsights'
import { sum, total, type Figures } from './insightTypes'
import { Depth, Honesty, LinkHealth, Movement, Orphans, Rank, Sinks, Starved } from './linkInsights'
import { SiteAudits, SiteFrame } from './SiteFrame'
import { Clusters, Topics, Unanswered } from './topicInsights'

const words = texts.insights

export default function InsightsScreen({ site }: { site: string }) {
  return (
    <SiteFrame site={site} part="insights">
      {(done) => <SiteInsights site={site} done={done} />}
    </SiteFrame>
  )
}

/** The insights about a site as a tab of its channel. */
export function InsightsTab({ site }: { site: string }) {
  return <SiteAudits site={site}>{(done) => <SiteInsights site={site} done={done} />}</SiteAudits>
}

function SiteInsights({ site, done }: { site: string; done: readonly Audit[] }) {
  const [parameters, change] = useAddressState()
  const latest = done[0] as Audit
  const run = done.find((audit) => audit.run === parameters.get('run')) ?? latest
  const other = done.find((audit) => audit.run === parameters.get('compare') && audit !== run)
  const insights = useQuery(queries.insights(site, run.run))
  const compared = useQuery({ ...queries.insights(site, other?.run ?? ''), enabled: other !== undefined })
  if (insights.isPending) return <Loading />
  if (insights.isLoadingError) return <Failure error={insights.error} retry={() => void insights.refetch()} />
  const figures = insights.data.insights as unknown as Figures
  const option = (audit: Audit) => ({ value: audit.run, label: moment.format(new Date(audit.finished_at ?? audit.started_at ?? 0)) })
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label={words.run}
          value={run.run}
          onChange={(event) => change({ run: event.currentTarget.value === latest.run ? '' : event.currentTarget.value })}
          data={done.map(option)}
        />
        {done.length > 1 && (
          <NativeSelect
            label={words.compare}
            value={other?.run ?? ''}
            onChange={(event) => change({ compare: event.currentTarget.value })}
            data={[{ value: '', label: words.compareNone }, ...done.filter((audit) => audit !== run).map(option)]}
          />
        )}
      </Group>
      {figures.run_honesty === undefined ? <Empty title={words.noneOfRun} /> : <All run={run} figures={figures} other={compared.data?.insights as unknown as Figures | undefined} done={done} />}
    </Stack>
  )
}

interface AllProps {
  run: Audit
  figures: Figures
  other: Figures | undefined
  done: readonly Audit[]
}

function All({ run, figures, other, done }: AllProps) {
  const about = { run: run.run, figures }
  return (
    <>
      {!figures.run_honesty.is_complete && (
        <Alert color="yellow" variant="outline">
          {words.incomplete}
        </Alert>
      )}
      {other?.run_honesty && <Comparison figures={figures} other={other} />}
      <div className="insights">
        <Honesty {...about} />
        <Movement {...about} />
        {done.length > 1 && <Trends done={done} />}
        <Depth {...about} />
        <Rank {...about} />
        <Sinks {...about} />
        <Starved {...about} />
        <Orphans {...about} />
        <Duplicates {...about} />
        <Thin {...about} />
        <Translations {...about} />
        <Structured {...about} />
        <Topics {...about} />
        <Clusters {...about} />
        <Unanswered {...about} />
        <LinkHealth {...about} />
        <Machines {...about} />
        <Age {...about} />
      </div>
    </>
  )
}

/** The main figures of an audit by name. */
function mainFigures(figures: Figures): [keyof typeof words.figures, number][] {
  const { run_honesty: honesty, link_health: links, machine_readiness: machines } = figures
  return [
    ['discovered', honesty.discovered],
    ['read', honesty.read],
    ['unchanged', honesty.unchanged],
    ['merged', honesty.merged],
    ['skipped', sum(honesty.skipped)],
    ['failed', sum(honesty.failed)],
    ['unfinished', honesty.unfinished],
    ['links', links.links],
    ['broken', total(links, 'broken_targets', links.broken_targets)],
    ['orphans', total(figures.orphans, 'pages', figures.orphans.pages)],
    ['duplicates', total(figures.exact_duplicates, 'sets', figures.exact_duplicates.sets)],
    ['near', total(figures.near_duplicates, 'sets', figures.near_duplicates.sets)],
    ['readable', machines.readable_without_scripts],
    ['textTokens', machines.text_tokens],
  ]
}

function Comparison({ figures, other }: { figures: Figures; other: Figures }) {
  const before = new Map(mainFigures(other))
  const rows = mainFigures(figures).map(([name, value]) => {
    const difference = value - (before.get(name) ?? 0)
    return [
      words.figures[name],
      value.toLocaleString(),
      (before.get(name) ?? 0).toLocaleString(),
      difference === 0 ? '=' : `${difference > 0 ? '+' : '−'}${Math.abs(difference).toLocaleString()}`,
    ]
  })
  return (
    <Explained title={words.comparison} definition={words.comparisonDefinition}>
      <Rows name={words.comparison} headings={[words.figure, words.thisRun, words.otherRun, words.change]} rows={rows} numbers={[1, 2, 3]} />
    </Explained>
  )
}

function Trends({ done }: { done: readonly Audit[] }) {
  const oldestFirst = [...done].reverse()
  const moments = oldestFirst.map((audit) => ({ key: audit.run, label: <Time value={audit.finished_at} /> }))
  const of = (severity: string) => oldestFirst.map((audit) => audit.findings.by_severity[severity as 'error'] ?? 0)
  return (
    <Explained title={words.trends} definition={words.trendsDefinition}>
      <Stack>
        <div>
          <Text size="sm" fw={600} mb={4}>
            {words.trendScore}
          </Text>
          <Trend
            name={words.trendScore}
            heading={texts.issues.at}
            moments={moments}
            most={100}
            lines={[
              {
                key: 'score',
                label: texts.issues.score,
                tone: 'good',
                values: oldestFirst.map((audit) => (audit.score?.percent == null ? null : Math.round(audit.score.percent))),
              },
            ]}
          />
        </div>
        <div>
          <Text size="sm" fw={600} mb={4}>
            {words.trendFindings}
          </Text>
          <Trend
            name={words.trendFindings}
            heading={texts.issues.at}
            moments={moments}
            lines={[
              { key: 'error', label: texts.issues.severities.error, tone: 'bad', values: of('error') },
              { key: 'warning', label: texts.issues.severities.warning, tone: 'warn', values: of('warning') },
              { key: 'notice', label: texts.issues.severities.notice, tone: 'plain', values: of('notice') },
            ]}
          />
        </div>
      </Stack>
    </Explained>
  )
}
