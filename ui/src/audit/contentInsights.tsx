/** Insights about content: duplicates, thin pages, translations, structured data, readiness for machines, age. */
import { Stack, Text } from '@mantine/core'
import { Explained, Histogram, Rows } from '../parts/figures'
import { Facts } from '../parts/frames'
import { Check, Cross } from '../parts/icons'
import { UrlLink } from '../screens/Node'
import { texts } from '../texts'
import type { DuplicateSets } from './insightTypes'
import { None, percent, plain, type AboutRun } from './linkInsights'

const words = texts.insights

export function Duplicates({ run, figures }: AboutRun) {
  return (
    <>
      <Explained title={words.exact} definition={words.exactDefinition}>
        <Sets run={run} name={words.exact} sets={figures.exact_duplicates} />
      </Explained>
      <Explained title={words.near} definition={words.nearDefinition}>
        <Sets run={run} name={words.near} sets={figures.near_duplicates} />
      </Explained>
    </>
  )
}

function Sets({ run, name, sets }: { run: string; name: string; sets: DuplicateSets }) {
  if (sets.sets.length === 0) return <None text={words.duplicatesNone} />
  return (
    <Rows
      name={name}
      headings={[words.primary, words.others, words.similarity]}
      rows={sets.sets.map((set) => [
        <UrlLink run={run} url={set.primary} />,
        <ul className="plain-list">
          {set.pages
            .filter((url) => url !== set.primary)
            .map((url) => (
              <li key={url}>
                <UrlLink run={run} url={url} />
              </li>
            ))}
        </ul>,
        percent(set.similarity),
      ])}
      more={sets.more?.['sets']}
      numbers={[2]}
    />
  )
}

export function Thin({ run, figures }: AboutRun) {
  const rows = figures.thin_pages.folders.flatMap((folder) =>
    folder.thin.map(([url, count]) => [<UrlLink run={run} url={url} />, count.toLocaleString(), Math.round(folder.median).toLocaleString()]),
  )
  return (
    <Explained title={words.thin} definition={words.thinDefinition}>
      {rows.length === 0 ? <None text={words.thinNone} /> : <Rows name={words.thin} headings={[words.url, words.words, words.median]} rows={rows} numbers={[1, 2]} />}
    </Explained>
  )
}

/** A table of pages by language; each cell has a sign and a word. */
export function Translations({ run, figures }: AboutRun) {
  const { pages, more } = figures.hreflang
  const langs = [...new Set(pages.flatMap((page) => Object.keys(page.cells)))].sort()
  return (
    <Explained title={words.hreflang} definition={words.hreflangDefinition}>
      {pages.length === 0 ? (
        <None text={words.hreflangNone} />
      ) : (
        <Rows
          name={words.hreflang}
          headings={[words.page, ...langs]}
          rows={pages.map((page) => [<UrlLink run={run} url={page.page} />, ...langs.map((lang) => <State key={lang} state={page.cells[lang]} />)])}
          more={more?.['pages']}
        />
      )}
    </Explained>
  )
}

function State({ state }: { state: string | undefined }) {
  if (state === undefined) return texts.none
  const isOk = state === 'ok'
  const Icon = isOk ? Check : Cross
  return (
    <span className={`tone tone-${isOk ? 'good' : 'bad'}`}>
      <Icon size={13} />
      {isOk ? words.ok : plain(state)}
    </span>
  )
}

export function Structured({ figures }: AboutRun) {
  const { pages, types, broken } = figures.structured_data
  const rows = Object.entries(types).flatMap(([type, folders]) =>
    Object.entries(folders).map(([folder, count]) => [type, folder, words.ofFolder(count, pages[folder] ?? count)]),
  )
  return (
    <Explained title={words.structured} definition={words.structuredDefinition}>
      <Stack gap="sm">
        {rows.length === 0 ? <None text={words.structuredNone} /> : <Rows name={words.structured} headings={[words.type, words.folder, words.pages]} rows={rows} numbers={[2]} />}
        {broken > 0 && <Text size="sm">{words.brokenData(broken)}</Text>}
      </Stack>
    </Explained>
  )
}

export function Machines({ figures }: AboutRun) {
  const machines = figures.machine_readiness
  return (
    <Explained title={words.machines} definition={words.machinesDefinition}>
      <Facts
        items={[
          [words.readable, words.ofFolder(machines.readable_without_scripts, machines.pages)],
          [words.htmlTokens, machines.html_tokens.toLocaleString()],
          [words.textTokens, machines.text_tokens.toLocaleString()],
          [words.refused, machines.refused_by_robots.toLocaleString()],
          [words.noindex, machines.noindex.toLocaleString()],
          [words.llms, words.llmsStates[machines.llms_txt] ?? machines.llms_txt],
        ]}
      />
    </Explained>
  )
}

const AGES = ['<30 d', '<90 d', '<180 d', '<365 d', 'older', 'unknown']

export function Age({ run, figures }: AboutRun) {
  const { ages, queue } = figures.decay
  const names = [...AGES.filter((name) => name in ages), ...Object.keys(ages).filter((name) => !AGES.includes(name))]
  return (
    <Explained title={words.age} definition={words.ageDefinition}>
      <Stack gap="sm">
        <Histogram name={words.age} heading={words.ageHeading} cells={names.map((name) => ({ key: name, label: name, value: ages[name] ?? 0 }))} />
        {queue.length > 0 && (
          <Rows
            name={words.refresh}
            headings={[words.refresh, words.days]}
            rows={queue.map(([url, days]) => [<UrlLink run={run} url={url} />, Math.round(days).toLocaleString()])}
            numbers={[1]}
          />
        )}
      </Stack>
    </Explained>
  )
}
