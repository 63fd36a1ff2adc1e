/** Search over everything that was crawled, with highlighted passages and citations that open at the place. */
import { Anchor, Button, Group, NativeSelect, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Fragment, useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react'
import { Link } from 'wouter'
import { address, type Hit } from '../api/client'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading, Screen } from '../parts/frames'
import { External, Search } from '../parts/icons'
import { WarningLabel } from '../parts/states'
import { isWebAddress, shownUrl, Time } from '../parts/values'
import { texts } from '../texts'

export function SearchScreen() {
  return (
    <Screen title={texts.search.title}>
      <SearchPanel />
    </Screen>
  )
}

/** Field and results; `within` is the only site to search. */
export function SearchPanel({ within }: { within?: string }) {
  const [parameters, change] = useAddressState()
  const query = parameters.get('q') ?? ''
  const site = within ?? parameters.get('site') ?? ''
  const [typed, setTyped] = useState(query)
  const input = useRef<HTMLInputElement>(null)
  const results = useRef<HTMLDivElement>(null)
  const sites = useQuery(queries.sites)
  const found = useQuery(queries.search(query, site))
  useEffect(() => setTyped(query), [query])

  function move(step: number) {
    const links = [...(results.current?.querySelectorAll<HTMLAnchorElement>('h2 a') ?? [])]
    const at = links.indexOf(document.activeElement as HTMLAnchorElement)
    links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))]?.focus()
  }
  useHotkeys([
    ['j', () => move(1)],
    ['k', () => move(-1)],
    ['/', () => input.current?.focus()],
  ])
  function submit(event: FormEvent) {
    event.preventDefault()
    change({ q: typed.trim() })
  }

  const names = sites.data?.sites.map((each) => each.name) ?? []
  const waiting = (sites.data?.sites ?? []).reduce((sum, each) => sum + (site === '' || each.name === site ? each.waiting : 0), 0)
  return (
    <Stack gap="lg" maw="64rem">
      <form onSubmit={submit} role="search">
        <Group align="flex-end" gap="sm">
          <TextInput
            ref={input}
            style={{ flex: '1 1 18rem' }}
            type="search"
            size="md"
            label={within ? texts.search.labelWithin(within) : texts.search.label}
            placeholder={texts.search.placeholder}
            leftSection={<Search />}
            maxLength={2000}
            autoFocus={within === undefined}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          {within === undefined && (
            <NativeSelect
              size="md"
              label={texts.search.site}
              value={site}
              onChange={(event) => change({ site: event.currentTarget.value })}
              data={[{ value: '', label: texts.search.everySite }, ...names]}
            />
          )}
          <Button type="submit" size="md">
            {texts.search.button}
          </Button>
        </Group>
      </form>
      {waiting > 0 && (
        <Text size="sm" c="dimmed" role="status">
          {texts.search.waiting(waiting)}
        </Text>
      )}
      {query === '' ? (
        sites.data && names.length === 0 ? (
          <Empty title={texts.search.noSites} hint={texts.search.noSitesHint}>
            <Anchor component={Link} href="/new">
              {texts.runs.new}
            </Anchor>
          </Empty>
        ) : (
          <Text c="dimmed">{texts.search.hint}</Text>
        )
      ) : found.isPending ? (
        <Loading />
      ) : found.isLoadingError ? (
        <Failure error={found.error} retry={() => void found.refetch()} />
      ) : found.data.hits.length === 0 ? (
        <Empty title={texts.search.nothing} hint={within ? texts.search.tryOtherWords : texts.search.tryOther} />
      ) : (
        <Stack gap="sm">
          <Text size="sm" c="dimmed" role="status">
            {texts.search.hits(found.data.hits.length)} · {texts.search.mode[found.data.mode] ?? found.data.mode}
          </Text>
          <div ref={results}>
            <Stack component="ol" gap="sm" style={{ listStyle: 'none', padding: 0, margin: 0 }}>
              {found.data.hits.map((hit) => (
                <li key={hit.chunk}>
                  <Result hit={hit} />
                </li>
              ))}
            </Stack>
          </div>
        </Stack>
      )}
    </Stack>
  )
}

function Result({ hit }: { hit: Hit }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h5">
        <Anchor component={Link} href={address('/page', { site: hit.site, url: hit.url, view: 'chunks', chunk: hit.chunk })} inherit>
          {hit.title || shownUrl(hit.url)}
        </Anchor>
      </Title>
      <Text size="sm" c="dimmed">
        {[shownUrl(hit.url), ...hit.headings].join(' › ')}
      </Text>
      <Text mt={6}>{highlighted(hit.snippet, hit.highlights as unknown as [number, number][])}</Text>
      <Group gap="sm" mt={6}>
        {isWebAddress(hit.citation) && (
          <Anchor href={hit.citation} target="_blank" rel="noopener noreferrer nofollow" size="sm">
            {texts.search.open} <External size={13} />
          </Anchor>
        )}
        {hit.flags.length > 0 && <WarningLabel word={texts.search.flagged} />}
        {hit.fetched_at && (
          <Text size="xs" c="dimmed">
            {texts.page.fetched} <Time value={hit.fetched_at} />
          </Text>
        )}
      </Group>
    </Paper>
  )
}

/** The snippet with marks around these ranges. The server counts code points, JavaScript counts UTF-16 units. */
export function highlighted(snippet: string, ranges: readonly [number, number][]): ReactNode[] {
  const characters = [...snippet]
  const pieces: ReactNode[] = []
  let at = 0
  for (const [start, end] of ranges) {
    pieces.push(<Fragment key={`t${at}`}>{characters.slice(at, start).join('')}</Fragment>)
    pieces.push(<mark key={`m${start}`}>{characters.slice(start, end).join('')}</mark>)
    at = end
  }
  pieces.push(<Fragment key="rest">{characters.slice(at).join('')}</Fragment>)
  return pieces
}
