/** What the last crawl of a channel did with every URL it found, how fresh the content is, and what compression has saved. */
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Channel, Statistics } from '../api/channels'
import type { Counts, Summary } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { isDone } from '../audit/SiteFrame'
import { Sparkline } from '../parts/charts'
import { Empty, Facts, Loading, Section } from '../parts/frames'
import { errorCount, reasonWord, SeverityLabel, type Tone } from '../parts/states'
import { between, bytes, percent, Time } from '../parts/values'
import { UrlLink } from '../screens/Node'
import { texts } from '../texts'
import { NextRun } from './Channels'

const UNCHANGED_REASONS = ['unchanged_lastmod', 'within_ttl']

interface OverviewProps {
  channel: Channel
  summary: Summary | undefined
  figures: Statistics | undefined
}

export function OverviewTab({ channel, summary, figures }: OverviewProps) {
  if (channel.crawlStatus === null) return <Empty title={texts.channels.never} hint={texts.channel.neverHint} />
  if (!summary || !figures) return <Loading />
  const { storage, lastCrawl } = figures
  return (
    <Stack>
      <Section
        title={isActive(summary.status) ? texts.channel.thisCrawl : texts.channel.lastCrawlDid}
        actions={
          <Anchor component={Link} href={`/runs/${summary.id}`} size="sm">
            {isActive(summary.status) ? texts.channel.openLive : texts.channel.openRun}
          </Anchor>
        }
      >
        <Results summary={summary} />
      </Section>
      {isActive(summary.status) && <LatestPages run={summary.id} />}
      <div className="overview-grid">
        <TopIssues channel={channel} />
        <Section title={texts.channel.freshness}>
          <Facts
            items={[
              [texts.channels.lastCrawl, <Time value={figures.lastCrawledAt} />],
              lastCrawl !== null && [texts.run.took, between(lastCrawl.startedAt, lastCrawl.completedAt)],
              lastCrawl !== null && [texts.channel.changed, lastCrawl.statistics.changedPages.toLocaleString()],
              lastCrawl !== null && [texts.channel.new, lastCrawl.statistics.newPages.toLocaleString()],
              [texts.channels.nextCrawl, <NextRun channel={channel} />],
              Boolean(channel.schedule?.summary) && [texts.channel.lastSchedule, channel.schedule?.summary],
            ]}
          />
        </Section>
        <Section title={texts.channel.storage}>
          {storage.originalFileSizeBytes === 0 ? (
            <Text c="dimmed">{texts.channel.noStorage}</Text>
          ) : (
            <Facts
              items={[
                [texts.channel.original, bytes(storage.originalFileSizeBytes)],
                [texts.channel.stored, bytes(storage.fileSizeBytes)],
                [texts.channel.saved, `${bytes(storage.compressionSavingsBytes)} (${percent(storage.compressionRatio)})`],
                [texts.channel.bandwidth, bytes(storage.bandwidthBytes)],
              ]}
            />
          )}
        </Section>
      </div>
    </Stack>
  )
}

const LATEST = 8

/** The pages that the crawl has read last. */
function LatestPages({ run }: { run: string }) {
  const urls = useQuery(queries.urls(run, { status: ['VISITED'] }, 'visited_at', 'desc', 0, LATEST))
  const listed = urls.data?.urls ?? []
  if (listed.length === 0) return null
  return (
    <Section title={texts.channel.latest}>
      <ul className="plain-list latest">
        {listed.map((row) => (
          <li key={row.id} className="one-line">
            <UrlLink run={run} url={row.url} />{' '}
            <Text span size="sm" c="dimmed">
              {row.title}
            </Text>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const TOP = 5
const WEIGHTS = { error: 100, warning: 10, notice: 1 }

/** The score of the last check, how it developed, and the rules that concern most pages. */
function TopIssues({ channel }: { channel: Channel }) {
  const audits = useQuery({ ...queries.audits(channel.site), retry: false })
  const done = audits.data?.audits.filter(isDone) ?? []
  const rules = useQuery({ ...queries.rules(channel.site), enabled: done.length > 0 })
  const issues = useQuery({ ...queries.issues(channel.site, { status: ['open', 'regressed'] }), enabled: done.length > 0 })
  const all = `/channels/${channel.id}/issues`
  const latest = done[0]
  const titles = new Map(rules.data?.rules.map((rule) => [rule.id, rule.title]))
  const worst = [...(issues.data?.issues ?? [])].sort((a, b) => b.pages * WEIGHTS[b.severity] - a.pages * WEIGHTS[a.severity]).slice(0, TOP)
  const scores = [...done].reverse().flatMap((audit) => (audit.score?.percent == null ? [] : [Math.round(audit.score.percent)]))
  return (
    <Section
      title={texts.issues.title}
      actions={
        <Anchor component={Link} href={all} size="sm">
          {latest ? texts.issues.all : texts.issues.first}
        </Anchor>
      }
    >
      {!latest ? (
        <Text size="sm" c="dimmed">
          {texts.issues.notYet}
        </Text>
      ) : (
        <Stack gap="xs">
          <Group gap="sm" wrap="nowrap">
            <Text fw={650} fz="1.5rem" lh={1.2} style={{ flex: 'none' }}>
              {scores.length > 0 ? `${scores.at(-1)} %` : texts.none}
            </Text>
            <Text size="sm" c="dimmed" style={{ flex: 'none' }}>
              {texts.issues.score}
            </Text>
            {scores.length > 1 && (
              <div style={{ flex: '1 1 auto', minWidth: 0 }}>
                <Sparkline values={scores} label={texts.issues.trend(scores)} height={28} most={100} />
              </div>
            )}
          </Group>
          <ul className="plain-list">
            {worst.map((issue) => (
              <li key={issue.rule}>
                <Group gap="xs" wrap="nowrap" align="baseline">
                  <SeverityLabel severity={issue.severity} />
                  <Text size="sm" style={{ minWidth: 0 }}>
                    {titles.get(issue.rule) ?? issue.rule}
                  </Text>
                  <Text size="sm" c="dimmed" ml="auto" style={{ flex: 'none' }}>
                    {texts.issues.where(issue.pages, issue.pages)}
                  </Text>
                </Group>
              </li>
            ))}
          </ul>
        </Stack>
      )}
    </Section>
  )
}

interface Part {
  key: string
  label: string
  count: number
  tone: Tone
  /** The list of these URLs in the run. */
  href?: string
}

function parts(run: string, counts: Counts): Part[] {
  const state = (name: string) => counts.by_status[name] ?? 0
  const list = `/runs/${run}/urls`
  const unchanged = UNCHANGED_REASONS.reduce((sum, reason) => sum + (counts.skipped[reason] ?? 0), state('NOT_MODIFIED'))
  const moved = Object.entries(counts.by_status).reduce((sum, [name, n]) => sum + (/^REDIRECT|^ALIAS$/.test(name) ? n : 0), 0)
  const skipped = Object.entries(counts.skipped).filter(([reason]) => !UNCHANGED_REASONS.includes(reason))
  const waiting = counts.queued + counts.in_progress + state('DISCOVERED')
  const every: Part[] = [
    { key: 'read', label: texts.channel.results.read, count: state('VISITED'), tone: 'good', href: `${list}?status=VISITED` },
    { key: 'unchanged', label: texts.channel.results.unchanged, count: unchanged, tone: 'busy' },
    { key: 'moved', label: texts.channel.results.moved, count: moved, tone: 'other' },
    ...skipped
      .sort((a, b) => b[1] - a[1])
      .map(([reason, count]) => ({
        key: reason,
        label: texts.channel.results.skipped(reasonWord(reason)),
        count,
        tone: 'warn' as const,
        href: `${list}?skip_reason=${encodeURIComponent(reason)}`,
      })),
    { key: 'failed', label: texts.channel.results.failed, count: errorCount(counts), tone: 'bad', href: `/runs/${run}/errors` },
    { key: 'waiting', label: texts.channel.results.waiting, count: waiting, tone: 'plain' },
  ]
  return every.filter((part) => part.count > 0)
}

/** Every URL that was found, by what became of it: one bar, and the same as a list. */
function Results({ summary }: { summary: Summary }) {
  const shown = parts(summary.id, summary.counts)
  const total = shown.reduce((sum, part) => sum + part.count, 0)
  if (total === 0) return <Text c="dimmed">{texts.urls.nothing}</Text>
  return (
    <Stack gap="sm">
      <Text>{texts.channel.results.found(total)}</Text>
      <div className="parts" aria-hidden>
        {shown.map((part) => (
          <div key={part.key} className={`tone-${part.tone}`} style={{ flexGrow: part.count }} title={`${part.label}: ${part.count}`} />
        ))}
      </div>
      <ul className="parts-list">
        {shown.map((part) => (
          <li key={part.key}>
            <Group gap={6} wrap="nowrap">
              <i className={`tone-${part.tone}`} aria-hidden />
              {part.href ? (
                <Anchor component={Link} href={part.href} size="sm">
                  {part.label}
                </Anchor>
              ) : (
                <Text size="sm">{part.label}</Text>
              )}
              <Text size="sm" fw={600}>
                {part.count.toLocaleString()}
              </Text>
            </Group>
          </li>
        ))}
      </ul>
    </Stack>
  )
}
