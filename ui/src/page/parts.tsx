/** Parts of the page detail: passages of the search index, media, issues, other addresses, screenshot. */
import { Anchor, Group, Paper, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import * as channels from '../api/channels'
import { address, runPath, sitePath, type Page } from '../api/client'
import * as queries from '../api/queries'
import { FindingList } from '../audit/Findings'
import { isDone } from '../audit/SiteFrame'
import { Card, isShownPicture, Lightbox } from '../channels/Media'
import { Empty, Failure, Loading, Section } from '../parts/frames'
import { UrlStateLabel, WarningLabel } from '../parts/states'
import { LocalTable, type LocalColumn } from '../parts/table'
import { WebLink } from '../parts/values'
import { texts } from '../texts'
import { Markdown, type Pictures } from './Markdown'

export function Passages({ run, url }: { run: string; url: string }) {
  const [parameters] = useSearchParams()
  const wanted = parameters.get('chunk')
  const chunks = useQuery(queries.chunks(run, url))
  const passage = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // After the frame of the dashboard has put a new screen at its top.
    const frame = requestAnimationFrame(() => {
      passage.current?.focus({ preventScroll: true })
      passage.current?.scrollIntoView({ block: 'center' })
    })
    return () => cancelAnimationFrame(frame)
  }, [wanted, chunks.data])
  if (chunks.isPending) return <Loading />
  if (chunks.isLoadingError) return <Failure error={chunks.error} retry={() => void chunks.refetch()} />
  if (chunks.data.chunks.length === 0) return <Empty title={texts.detail.chunksNone} />
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {texts.detail.chunksHint}
      </Text>
      {chunks.data.chunks.map((chunk, index) => (
        <Paper
          key={chunk.id}
          ref={chunk.id === wanted ? passage : undefined}
          tabIndex={chunk.id === wanted ? -1 : undefined}
          className={chunk.id === wanted ? 'wanted' : undefined}
          withBorder
          p="sm"
          component="section"
          aria-label={texts.detail.chunk(index + 1, chunk.tokens)}
        >
          <Group justify="space-between" gap="xs">
            <Text size="sm" fw={600}>
              {chunk.headings.join(' › ') || texts.none}
            </Text>
            <Text size="xs" c="dimmed">
              {texts.detail.chunk(index + 1, chunk.tokens)}
            </Text>
          </Group>
          {chunk.flags.map((flag, at) => (
            <Group key={at} gap="xs" mt={4}>
              <WarningLabel word={texts.detail.flagged} />
              <Text size="sm">
                {flag.rule}: “{flag.evidence}”
              </Text>
            </Group>
          ))}
          {chunk.lead && (
            <Text size="sm" c="dimmed" mt={6}>
              {chunk.lead}
            </Text>
          )}
          <div className="passage">
            <Markdown text={chunk.text} without={chunk.headings.at(-1)} />
          </div>
        </Paper>
      ))}
    </Stack>
  )
}

interface Medium {
  type?: string
  url?: string
  alt?: string | null
  title?: string | null
  width?: number | null
  height?: number | null
}

/** The files that the channel of the site keeps of a page; none where the site has no channel. */
function useStoredMedia(run: string, page: Page) {
  const summary = useQuery(queries.summary(run))
  const channel = useQuery(channels.channelOfSite(summary.data?.site ?? ''))
  const stored = useQuery(channels.pageOfUrl(channel.data?.id ?? '', page.url))
  const isPending = summary.isPending || channel.isPending || (channel.data && stored.isPending)
  return { channel: channel.data, files: stored.data?.media, isPending }
}

/** Pictures of a page as they are stored here, by their address on the page. */
export function useStoredPictures(run: string, page: Page): { pictures: Pictures; isPending: boolean } {
  const { files, isPending } = useStoredMedia(run, page)
  const pictures = useMemo(() => new Map((files ?? []).filter(isShownPicture).map((file) => [file.sourceUrl, file])), [files])
  return { pictures, isPending: Boolean(isPending) && (page.media as Medium[]).some((each) => each.type === 'image') }
}

/** The media of a page: as they are stored, where the site has a channel; otherwise what the page names. */
export function PageMedia({ run, page }: { run: string; page: Page }) {
  const { channel, files = [], isPending } = useStoredMedia(run, page)
  const [shown, show] = useState('')
  const named = page.media as Medium[]
  if (isPending) return <Loading />
  if (named.length === 0 && files.length === 0) return <Empty title={texts.detail.mediaNone} />
  return (
    <Stack gap="sm">
      {channel && files.length > 0 && (
        <>
          <ul className="media-grid">
            {files.map((file) => (
              <li key={file.id}>
                <Card file={file} open={() => show(file.id)} />
              </li>
            ))}
          </ul>
          <Lightbox channel={channel} file={shown || null} files={files} show={show} />
        </>
      )}
      {named.length > 0 && (
        <>
          <Text size="sm" c="dimmed">
            {files.length > 0 ? texts.detail.mediaNamed : texts.detail.mediaHint}
          </Text>
          <LocalTable
            label={texts.detail.mediaLabel}
            name="media"
            columns={MEDIA_COLUMNS}
            rows={named.map((each, index) => ({ ...each, index }))}
            keyOf={(each) => String((each as Medium & { index: number }).index)}
            minWidth="44rem"
          />
        </>
      )}
    </Stack>
  )
}

function kindWord(type: string): string {
  return (texts.media.kinds as Record<string, string>)[type.toUpperCase()] ?? type
}

const MEDIA_COLUMNS: LocalColumn<Medium>[] = [
  { id: 'type', label: texts.detail.mediaColumns.type, width: '8rem', value: (each) => each.type, facet: kindWord, cell: (each) => kindWord(each.type ?? '') },
  {
    id: 'url',
    label: texts.detail.mediaColumns.url,
    isHeader: true,
    value: (each) => each.url,
    cell: (each) => each.url && <WebLink url={each.url} />,
  },
  {
    id: 'alt',
    label: texts.detail.mediaColumns.alt,
    value: (each) => each.alt || each.title,
    cell: (each) =>
      each.alt || each.title || (
        <Text span inherit c="dimmed">
          {texts.detail.noAlt}
        </Text>
      ),
  },
  {
    id: 'size',
    label: texts.detail.mediaColumns.size,
    width: '9rem',
    value: (each) => (each.width && each.height ? each.width * each.height : null),
    cell: (each) => (each.width && each.height ? `${each.width} × ${each.height}` : ''),
  },
]

/** The open findings of the page. */
export function PageIssues({ run, page }: { run: string; page: Page }) {
  const summary = useQuery(queries.summary(run))
  const site = summary.data?.site ?? ''
  const audits = useQuery({ ...queries.audits(site), enabled: site !== '' })
  const filter = { page: page.url }
  const findings = useQuery({ ...queries.findings(site, filter, 0), enabled: site !== '' })
  if (summary.isPending || audits.isPending || findings.isPending) return <Loading />
  const error = summary.error ?? audits.error ?? findings.error
  if (error && !findings.data) return <Failure error={error} retry={() => void Promise.all([summary.refetch(), audits.refetch(), findings.refetch()])} />
  const all = (
    <Anchor component={Link} href={sitePath(site, 'issues')} size="sm">
      {texts.detail.allIssues}
    </Anchor>
  )
  if (!audits.data?.audits.some(isDone)) return <Empty title={texts.detail.issuesNotChecked}>{all}</Empty>
  if (findings.data?.findings.length === 0) return <Empty title={texts.detail.issuesNone}>{all}</Empty>
  return (
    <Stack gap="sm">
      <FindingList site={site} run={run} label={texts.detail.issuesOfPage} name="issues" filter={filter} isMixed />
      {all}
    </Stack>
  )
}

export function OtherAddresses({ run, url }: { run: string; url: string }) {
  const aliases = useQuery(queries.aliases(run, url))
  if (!aliases.data || aliases.data.aliases.length === 0) return null
  return (
    <Section title={texts.detail.aliases}>
      <ul className="plain-list">
        {aliases.data.aliases.map((alias) => (
          <li key={alias.url}>
            <WebLink url={alias.url} /> <UrlStateLabel state={alias.status} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

export function Screenshot({ run, page }: { run: string; page: Page }) {
  if (!page.screenshot) return null
  return (
    <Section title={texts.detail.screenshot}>
      <img className="screenshot" loading="lazy" src={address(runPath(run, 'screenshot'), { url: page.url })} alt={texts.page.screenshot} />
    </Section>
  )
}
