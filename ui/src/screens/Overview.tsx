/** Figures of a run. */
import { SimpleGrid, Stack, Text } from '@mantine/core'
import type { Summary, UrlState } from '../api/client'
import { isActive, type Sample } from '../api/follow'
import { Bars, rates, Sparkline } from '../parts/charts'
import { Facts, Figure, Section } from '../parts/frames'
import { errorCount, reasonWord, UrlStateLabel, urlTone } from '../parts/states'
import { between, bytes, Time, WebLink } from '../parts/values'
import { texts } from '../texts'
import { RunProgress } from './Runs'

export function OverviewTab({ summary, samples }: { summary: Summary; samples: readonly Sample[] }) {
  const { counts, run_config } = summary
  const waiting = counts.queued + counts.in_progress + (counts.by_status['DISCOVERED'] ?? 0)
  const errors = errorCount(counts)
  const perSecond = rates(samples)
  const seconds = summary.started_at ? ((summary.finished_at ? Date.parse(summary.finished_at) : Date.now()) - Date.parse(summary.started_at)) / 1000 : 0
  const speed = seconds > 0 ? counts.pages / seconds : null
  const states = Object.entries(counts.by_status).sort((a, b) => b[1] - a[1])
  const reasons = Object.entries(counts.skipped).sort((a, b) => b[1] - a[1])
  return (
    <Stack>
      {isActive(summary.status) && <RunProgress summary={summary} />}
      <div className="figures compact">
        <Figure label={texts.run.pages} value={counts.pages.toLocaleString()} />
        <Figure label={texts.run.found} value={counts.total_urls.toLocaleString()} />
        <Figure label={texts.run.pagesPerSecond} value={speed === null ? texts.none : speed.toLocaleString(undefined, { maximumFractionDigits: 1 })} />
        <Figure label={texts.run.waiting} value={waiting.toLocaleString()} />
        <Figure label={texts.run.skipped} value={(counts.by_status['SKIPPED'] ?? 0).toLocaleString()} />
        <Figure label={texts.run.errors} value={errors.toLocaleString()} />
        <Figure label={texts.run.words} value={counts.words.toLocaleString()} />
        <Figure label={texts.run.size} value={bytes(counts.body_bytes)} />
      </div>
      {isActive(summary.status) && perSecond.length > 2 && (
        <Section
          title={texts.run.speed}
          actions={
            <Text size="sm" c="dimmed">
              {texts.run.speedNow(perSecond.at(-1) ?? 0, Math.max(...perSecond))}
            </Text>
          }
        >
          <Sparkline values={perSecond} label={`${texts.run.speed}: ${texts.run.speedNow(perSecond.at(-1) ?? 0, Math.max(...perSecond))}`} />
        </Section>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Section title={texts.run.states}>
          <Bars
            caption={texts.run.states}
            bars={states.map(([state, value]) => ({
              key: state,
              label: <UrlStateLabel state={state as UrlState} />,
              value,
              tone: urlTone(state as UrlState),
            }))}
          />
        </Section>
        <Section title={texts.run.skippedWhy}>
          {reasons.length === 0 ? (
            <Text c="dimmed">{texts.run.nothingSkipped}</Text>
          ) : (
            <Bars
              caption={texts.run.skippedWhy}
              bars={reasons.map(([reason, value]) => ({ key: reason, label: reasonWord(reason), value, tone: 'warn' as const }))}
            />
          )}
        </Section>
      </SimpleGrid>
      <Section title={texts.run.details}>
        <Facts
          items={[
            [texts.run.seed, summary.seed_url ? <WebLink url={summary.seed_url}>{summary.seed_url}</WebLink> : texts.none],
            [texts.run.created, <Time value={summary.created_at} />],
            [texts.run.finished, <Time value={summary.finished_at} />],
            [texts.run.took, between(summary.started_at, summary.finished_at)],
            [texts.run.limits, texts.run.limit(run_config.maxPages, run_config.maxDepth)],
            [texts.run.scope, texts.start.scopes[run_config.scopeMode]],
            [texts.run.hosts, summary.allowed_hosts.join(', ')],
            [texts.run.id, <code>{summary.id}</code>],
          ]}
        />
      </Section>
    </Stack>
  )
}
