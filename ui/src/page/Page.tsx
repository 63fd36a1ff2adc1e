/** A page as it was read: as an article, as Markdown and text, its source, its data, its links, and why it was crawled. */
import { Alert, Anchor, Button, CopyButton, Group, Stack, Tabs, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { address, ApiError, type Page } from '../api/client'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Facts, Failure, Loading, Screen, Section } from '../parts/frames'
import { Back, Check, Copy } from '../parts/icons'
import { LocalTable, type LocalColumn } from '../parts/table'
import { shownUrl, Time, WebLink } from '../parts/values'
import { Markdown } from './Markdown'
import { TabStrip } from '../parts/tabs'
import { texts } from '../texts'
import { Gates, UrlLink } from '../screens/Node'
import { PageData } from './Data'
import { PageDiff } from './Diff'
import { OtherAddresses, PageIssues, PageMedia, Passages, Screenshot, useStoredPictures } from './parts'

const VIEWS = ['reading', 'markdown', 'text', 'html', 'diff', 'data', 'chunks', 'media', 'links', 'issues', 'why'] as const

export default function PageScreen({ run }: { run: string }) {
  const [parameters] = useSearchParams()
  const url = parameters.get('url') ?? ''
  const page = useQuery(queries.page(run, url))
  if (page.isPending) return <Loading />
  if (page.error instanceof ApiError && (page.error.status === 404 || page.error.status === 422)) return <NotRead run={run} url={url} />
  if (page.isLoadingError) return <Failure error={page.error} retry={() => void page.refetch()} />
  return (
    <Screen title={headingOf(page.data)} heading={<Heading run={run} page={page.data} />} actions={<PageActions run={run} url={url} page={page.data} />}>
      <Views run={run} url={url} page={page.data} />
    </Screen>
  )
}

/** The title, without the name of the site where the page has a heading without it. */
function headingOf(page: Page): string {
  const isPart = page.h1.length > 2 && page.title.toLowerCase().startsWith(page.h1.toLowerCase())
  return (isPart ? page.h1 : page.title) || shownUrl(page.url)
}

function Heading({ run, page }: { run: string; page: Page }) {
  return (
    <Stack gap={4}>
      <BackToRun run={run} />
      <Title order={1} size="h2">
        {headingOf(page)}
      </Title>
      <WebLink url={page.url}>{page.url}</WebLink>
      {page.description && (
        <Text c="dimmed" size="sm" maw="46rem">
          {page.description}
        </Text>
      )}
    </Stack>
  )
}

/** Copies, and the pages before and after this one. */
function PageActions({ run, url, page }: { run: string; url: string; page: Page }) {
  const [parameters] = useSearchParams()
  const [, go] = useLocation()
  const neighbours = useQuery(queries.neighbours(run, url))
  const view = parameters.get('view') ?? ''
  const pathOf = (other: string | null | undefined) => (other ? address(`/runs/${run}/page`, { url: other, view }) : undefined)
  const previous = pathOf(neighbours.data?.previous)
  const next = pathOf(neighbours.data?.next)
  useEffect(() => {
    function press(event: KeyboardEvent) {
      const isTaken = event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey
      // Tabs, text fields and what scrolls sideways have arrow keys of their own.
      if (isTaken || (event.target as Element).closest?.('input, textarea, select, pre, [role=tablist], [role=region], [role=dialog]')) return
      const path = event.key === 'ArrowLeft' ? previous : event.key === 'ArrowRight' ? next : undefined
      if (path) go(path)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [go, next, previous])
  const citation = texts.detail.citation(page.title || shownUrl(page.url), page.url, page.fetched_at?.slice(0, 10) ?? '')
  return (
    <Group gap="xs" aria-busy={neighbours.isPending}>
      <CopyText text={page.markdown} label={texts.detail.copyMarkdown} />
      <CopyText text={citation} label={texts.detail.copyCitation} />
      <Button size="xs" variant="default" disabled={!previous} title={texts.detail.keys} aria-label={texts.detail.previous} onClick={() => previous && go(previous)}>
        ← {texts.detail.previousShort}
      </Button>
      <Button size="xs" variant="default" disabled={!next} title={texts.detail.keys} aria-label={texts.detail.next} onClick={() => next && go(next)}>
        {texts.detail.nextShort} →
      </Button>
    </Group>
  )
}

function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="xs" variant="default" onClick={copy} leftSection={copied ? <Check /> : <Copy />}>
          {copied ? texts.page.copied : label}
        </Button>
      )}
    </CopyButton>
  )
}

function BackToRun({ run }: { run: string }) {
  return (
    <Anchor component={Link} href={`/runs/${run}/urls`} size="sm">
      <Group gap={2} component="span">
        <Back /> {texts.page.back}
      </Group>
    </Anchor>
  )
}

/** Why the page cannot be shown. */
function NotRead({ run, url }: { run: string; url: string }) {
  return (
    <Screen
      title={texts.page.missing}
      heading={
        <Stack gap={4}>
          <BackToRun run={run} />
          <Title order={1} size="h2">
            {texts.page.missing}
          </Title>
          <WebLink url={url}>{url}</WebLink>
        </Stack>
      }
    >
      <Why run={run} url={url} />
    </Screen>
  )
}

function Views({ run, url, page }: { run: string; url: string; page: Page }) {
  const [parameters, change] = useAddressState()
  const view = VIEWS.find((each) => each === parameters.get('view')) ?? 'reading'
  return (
    <Tabs value={view} onChange={(value) => change({ view: value === 'reading' ? '' : (value ?? '') })} keepMounted={false}>
      <TabStrip label={texts.page.viewsLabel} names={texts.page.views} shown={view} />
      <Tabs.Panel value="reading">
        <Reading run={run} page={page} />
      </Tabs.Panel>
      <Tabs.Panel value="markdown">
        <Source text={page.markdown} />
      </Tabs.Panel>
      <Tabs.Panel value="text">
        <Source text={page.text} />
      </Tabs.Panel>
      <Tabs.Panel value="html">
        <Html run={run} url={url} />
      </Tabs.Panel>
      <Tabs.Panel value="diff">
        <PageDiff run={run} url={url} />
      </Tabs.Panel>
      <Tabs.Panel value="data">
        <PageData page={page} />
      </Tabs.Panel>
      <Tabs.Panel value="chunks">
        <Passages run={run} url={url} />
      </Tabs.Panel>
      <Tabs.Panel value="media">
        <PageMedia run={run} page={page} />
      </Tabs.Panel>
      <Tabs.Panel value="issues">
        <PageIssues run={run} page={page} />
      </Tabs.Panel>
      <Tabs.Panel value="links">
        <Links run={run} url={url} />
      </Tabs.Panel>
      <Tabs.Panel value="why">
        <Why run={run} url={url} />
      </Tabs.Panel>
    </Tabs>
  )
}

function Reading({ run, page }: { run: string; page: Page }) {
  const { pictures, isPending } = useStoredPictures(run, page)
  // Pictures that arrive later would move the text.
  if (isPending) return <Loading />
  return (
    <div className="reading-columns">
      <div style={{ minWidth: 0 }}>
        {page.noindex && (
          <Alert color="yellow" variant="outline" mb="md">
            {texts.page.noindex}
          </Alert>
        )}
        {page.markdown.trim() ? (
          <Markdown text={page.markdown} without={headingOf(page)} pictures={pictures} />
        ) : (
          <Empty title={texts.page.noContent} />
        )}
      </div>
      <Stack>
        <Section title={texts.page.facts}>
          <Facts
            items={[
            page.title !== headingOf(page) && page.title !== '' && [texts.page.title, page.title],
            page.author !== '' && [texts.page.author, page.author],
            page.published !== '' && [texts.page.published, page.published],
            page.modified !== '' && [texts.page.modified, page.modified],
            page.lang !== '' && [texts.page.language, page.lang],
            [texts.page.words, page.word_count.toLocaleString()],
            [texts.page.fetched, <Time value={page.fetched_at} />],
            [texts.page.strategy, texts.page.strategies[page.strategy] ?? (page.strategy || texts.none)],
            page.canonical_url !== null && page.canonical_url !== page.url && [texts.page.canonical, shownUrl(page.canonical_url)],
            page.redirect_chain.length > 0 && [
              texts.node.redirects,
              page.redirect_chain.map((hop) => `${hop.status} ${shownUrl(hop.url)}`).join(' → '),
            ],
            [texts.page.hash, <code>{page.content_hash.slice(0, 12)}</code>],
          ]}
        />
        </Section>
        <OtherAddresses run={run} url={page.url} />
        <Screenshot run={run} page={page} />
      </Stack>
    </div>
  )
}

function Source({ text }: { text: string }) {
  if (!text.trim()) return <Empty title={texts.page.noContent} />
  return (
    <Stack gap="sm">
      <Group>
        <CopyText text={text} label={texts.page.copy} />
      </Group>
      <pre className="source" tabIndex={0}>
        {text}
      </pre>
    </Stack>
  )
}

function Html({ run, url }: { run: string; url: string }) {
  const source = useQuery(queries.source(run, url))
  if (source.isPending) return <Loading />
  if (source.error) {
    const isMissing = source.error instanceof ApiError && source.error.status === 404
    return isMissing ? <Empty title={texts.page.noSource} /> : <Failure error={source.error} retry={() => void source.refetch()} />
  }
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {texts.page.htmlHint}
      </Text>
      <Source text={source.data} />
    </Stack>
  )
}

function Links({ run, url }: { run: string; url: string }) {
  const links = useQuery(queries.links(run, url))
  if (links.isPending) return <Loading />
  if (links.isLoadingError) return <Failure error={links.error} retry={() => void links.refetch()} />
  const { inlinks, outlinks } = links.data
  return (
    <Stack>
      <Section title={texts.page.inlinks(inlinks.length)}>
        <LinkTable run={run} name="inlinks" rows={inlinks.map((link) => ({ ...link, other: link.source }))} none={texts.page.noInlinks} />
      </Section>
      <Section title={texts.page.outlinks(outlinks.length)}>
        <LinkTable run={run} name="outlinks" rows={outlinks.map((link) => ({ ...link, other: link.target }))} none={texts.page.noOutlinks} />
      </Section>
    </Stack>
  )
}

interface ShownLink {
  other: string
  text: string
  fragment: string
  nofollow: boolean
}

function LinkTable({ run, name, rows, none }: { run: string; name: string; rows: readonly ShownLink[]; none: string }) {
  if (rows.length === 0) return <Text c="dimmed">{none}</Text>
  const words = texts.page.linkColumns
  const columns: LocalColumn<ShownLink>[] = [
    { id: 'url', label: words.url, isHeader: true, value: (link) => link.other, cell: (link) => <UrlLink run={run} url={link.other} /> },
    {
      id: 'text',
      label: words.text,
      value: (link) => link.text,
      cell: (link) => link.text || <Text span inherit c="dimmed">{texts.page.noText}</Text>,
    },
    {
      id: 'follow',
      label: words.follow,
      width: '9rem',
      value: (link) => (link.nofollow ? texts.page.nofollow : texts.page.followed),
      facet: (word) => word,
      cell: (link) => (link.nofollow ? texts.page.nofollow : texts.page.followed),
    },
  ]
  return (
    <LocalTable
      label={name === 'inlinks' ? texts.page.linksTo : texts.page.linksFrom}
      name={name}
      isOneOfSeveral
      columns={columns}
      rows={rows.map((link, index) => ({ ...link, index }))}
      keyOf={(link) => String((link as ShownLink & { index: number }).index)}
      minWidth="40rem"
    />
  )
}

function Why({ run, url }: { run: string; url: string }) {
  const explanation = useQuery(queries.explanation(run, url))
  if (explanation.isPending) return <Loading />
  if (explanation.isLoadingError) return <Failure error={explanation.error} retry={() => void explanation.refetch()} />
  return <Gates explanation={explanation.data} />
}
