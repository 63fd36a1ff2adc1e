/** Insights about the run and about links: what was read, what changed, depth, rank, orphans, broken links. */
import { Stack, Text } from '@mantine/core'
import { Explained, Histogram, Parts, Rows } from '../parts/figures'
import { reasonWord, urlWord } from '../parts/states'
import { UrlLink } from '../screens/Node'
import { texts } from '../texts'
import { sum, total, type Figures } from './insightTypes'

const words = texts.insights

export interface AboutRun {
  run: string
  figures: Figures
}

export function None({ text }: { text: string }) {
  return <Text c="dimmed">{text}</Text>
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`
}

/** A word of the server, such as `no return` or `noindex_header`, as people read it. */
export function plain(name: string): string {
  return name.replaceAll('_', ' ')
}

export function Honesty({ figures }: AboutRun) {
  const honesty = figures.run_honesty
  const cells = [
    { key: 'read', label: words.figures.read, value: honesty.read, tone: 'good' },
    { key: 'unchanged', label: words.figures.unchanged, value: honesty.unchanged, tone: 'busy' },
    { key: 'merged', label: words.figures.merged, value: honesty.merged, tone: 'other' },
    { key: 'skipped', label: words.figures.skipped, value: sum(honesty.skipped), tone: 'warn' },
    { key: 'failed', label: words.figures.failed, value: sum(honesty.failed), tone: 'bad' },
    { key: 'unfinished', label: words.figures.unfinished, value: honesty.unfinished, tone: 'plain' },
  ]
  const reasons = [
    ...Object.entries(honesty.skipped).map(([reason, count]) => [words.figures.skipped, reasonWord(reason), count] as const),
    ...Object.entries(honesty.failed).map(([state, count]) => [words.figures.failed, urlWord(state), count] as const),
  ].sort((a, b) => b[2] - a[2])
  return (
    <Explained title={words.honesty} definition={words.honestyDefinition}>
      <Stack gap="sm">
        <Text size="sm">{words.honestyTotal(honesty.discovered)}</Text>
        <Parts name={words.honesty} cells={cells} heading={words.outcome} />
        {reasons.length > 0 && (
          <>
            <Text size="sm" fw={600}>
              {words.reasons}
            </Text>
            <Rows
              name={words.reasons}
              headings={[words.outcome, words.why, words.count]}
              rows={reasons.map(([outcome, reason, count]) => [outcome, reason, count.toLocaleString()])}
              numbers={[2]}
            />
          </>
        )}
      </Stack>
    </Explained>
  )
}

export function Movement({ run, figures }: AboutRun) {
  const { movement } = figures
  if (!movement) {
    return (
      <Explained title={words.movement} definition={words.movementDefinition}>
        <None text={words.movementNone} />
      </Explained>
    )
  }
  const kinds = [
    ['new', 'good', movement.new],
    ['changed', 'busy', movement.changed],
    ['moved', 'other', movement.moved],
    ['gone', 'bad', movement.gone],
  ] as const
  const cells = kinds.map(([kind, tone, list]) => ({ key: kind, label: words.movements[kind], value: total(movement, kind, list), tone: tone as string }))
  const rows = [
    ...movement.new.map((url) => [words.movements.new, <UrlLink run={run} url={url} />, '']),
    ...movement.moved.map(([from, to, share]) => [words.movements.moved, <UrlLink run={run} url={to} />, `${words.from} ${from} (${percent(share)})`]),
    ...movement.changed.map(([url, share]) => [words.movements.changed, <UrlLink run={run} url={url} />, share < 0 ? words.unknown : percent(share)]),
    ...movement.gone.map((url) => [words.movements.gone, <UrlLink run={run} url={url} />, '']),
  ]
  return (
    <Explained title={words.movement} definition={words.movementDefinition}>
      <Stack gap="sm">
        <Parts
          name={words.movement}
          heading={words.outcome}
          cells={[...cells, { key: 'same', label: words.movements.same, value: movement.same, tone: 'plain' }]}
        />
        {rows.length > 0 && <Rows name={words.movement} headings={[words.outcome, words.url, words.share]} rows={rows} more={sum(movement.more ?? {})} />}
      </Stack>
    </Explained>
  )
}

export function Depth({ figures }: AboutRun) {
  const cells = Object.entries(figures.click_depth).map(([depth, counts]) => ({
    key: depth,
    label: words.clicks(depth),
    value: sum(counts),
    tone: depth === '-' ? 'bad' : Number(depth) > 4 ? 'warn' : 'busy',
  }))
  return (
    <Explained title={words.depth} definition={words.depthDefinition}>
      <Histogram name={words.depth} cells={cells} heading={words.clicksHeading} />
    </Explained>
  )
}

export function Rank({ run, figures }: AboutRun) {
  const { histogram, top, sections } = figures.internal_rank
  const cells = histogram.map((value, index) => ({ key: String(index), label: `${index * 10}–${index * 10 + 10}`, value }))
  return (
    <Explained title={words.rank} definition={words.rankDefinition}>
      <Stack gap="sm">
        <Text size="sm" fw={600}>
          {words.rankPages}
        </Text>
        <Histogram name={words.rankPages} cells={cells} heading={words.rankHeading} />
        <Rows
          name={words.rankTop}
          headings={[words.rankTop, words.rankHeading]}
          rows={top.map((page) => [<UrlLink run={run} url={page.url} />, page.scaled.toFixed(1)])}
          numbers={[1]}
        />
        <Rows
          name={words.sections}
          headings={[words.section, words.rankShare]}
          rows={Object.entries(sections).map(([section, share]) => [section, percent(share)])}
          numbers={[1]}
        />
      </Stack>
    </Explained>
  )
}

export function Sinks({ run, figures }: AboutRun) {
  const { shares, pages } = figures.rank_sinks
  return (
    <Explained title={words.sinks} definition={words.sinksDefinition}>
      {Object.keys(shares).length === 0 ? (
        <None text={words.sinksNone} />
      ) : (
        <Stack gap="sm">
          <Rows
            name={words.sinks}
            headings={[words.why, words.rankShare]}
            rows={Object.entries(shares)
              .sort((a, b) => b[1] - a[1])
              .map(([reason, share]) => [plain(reason), percent(share)])}
            numbers={[1]}
          />
          {pages.length > 0 && (
            <Rows
              name={words.sinks}
              headings={[words.url, words.why, words.rankShare]}
              rows={pages.map(([url, reason, share]) => [<UrlLink run={run} url={url} />, plain(reason), percent(share)])}
              numbers={[2]}
            />
          )}
        </Stack>
      )}
    </Explained>
  )
}

export function Starved({ run, figures }: AboutRun) {
  const { pages } = figures.starved_pages
  return (
    <Explained title={words.starved} definition={words.starvedDefinition}>
      {pages.length === 0 ? (
        <None text={words.starvedNone} />
      ) : (
        <Rows
          name={words.starved}
          headings={[words.url, words.words, words.suggestions]}
          rows={pages.map((page) => [
            <UrlLink run={run} url={page.url} />,
            page.words.toLocaleString(),
            <ul className="plain-list">
              {page.suggestions.map((url) => (
                <li key={url}>
                  <UrlLink run={run} url={url} />
                </li>
              ))}
            </ul>,
          ])}
          more={figures.starved_pages.more?.['pages']}
          numbers={[1]}
        />
      )}
    </Explained>
  )
}

export function Orphans({ run, figures }: AboutRun) {
  const { orphans } = figures
  return (
    <Explained title={words.orphans} definition={words.orphansDefinition}>
      {orphans.pages.length === 0 ? (
        <None text={words.orphansNone} />
      ) : (
        <Stack gap="sm">
          <Text size="sm">{orphans.is_confirmed ? words.confirmed : words.suspected}</Text>
          <Rows
            name={words.orphans}
            headings={[words.url, words.source]}
            rows={orphans.pages.map(([url, source]) => [<UrlLink run={run} url={url} />, plain(source)])}
            more={orphans.more?.['pages']}
          />
        </Stack>
      )}
    </Explained>
  )
}

export function LinkHealth({ run, figures }: AboutRun) {
  const { broken_targets, chains, external_hosts, more } = figures.link_health
  const lengths = Object.entries(chains).sort((a, b) => Number(a[0]) - Number(b[0]))
  return (
    <Explained title={words.links} definition={words.linksDefinition}>
      <Stack gap="sm">
        {broken_targets.length === 0 ? (
          <None text={words.brokenNone} />
        ) : (
          <Rows
            name={words.brokenTargets}
            headings={[words.brokenTargets, words.state, words.inlinks]}
            rows={broken_targets.map(([url, state, links]) => [<UrlLink run={run} url={url} />, plain(state), links.toLocaleString()])}
            more={more?.['broken_targets']}
            numbers={[2]}
          />
        )}
        {lengths.length > 0 && (
          <div>
            <Text size="sm" fw={600} mb={4}>
              {words.chains}
            </Text>
            <Histogram
              name={words.chains}
              heading={words.hops}
              cells={lengths.map(([length, value]) => ({ key: length, label: length, value, tone: length === '1' ? 'busy' : 'warn' }))}
            />
          </div>
        )}
        {external_hosts.length > 0 && (
          <Rows
            name={words.hosts}
            headings={[words.hosts, texts.insights.figures.links]}
            rows={external_hosts.map(([host, links]) => [host, links.toLocaleString()])}
            more={more?.['external_hosts']}
            numbers={[1]}
          />
        )}
      </Stack>
    </Explained>
  )
}
