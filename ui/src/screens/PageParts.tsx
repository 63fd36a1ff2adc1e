/** Parts of the page detail: passages of the search index, media, issues, other addresses, screenshot. */
import { Anchor, Group, Paper, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { address, runPath, sitePath, type Page } from '../api/client'
import * as queries from '../api/queries'
import { FindingList } from '../audit/Findings'
import { isDone } from '../audit/SiteFrame'
import { Empty, Failure, Loading, Section } from '../parts/frames'
import { UrlStateLabel, WarningLabel } from '../parts/states'
import { WebLink } from '../parts/values'
import { texts } from '../texts'

export function Passages({ run, url }: { run: string; url: string }) {
  const chunks = useQuery(queries.chunks(run, url))
  if (chunks.isPending) return <Loading />
  if (chunks.error) return <Failure error={chunks.error} retry={() => void chunks.refetch()} />
  if (chunks.data.chunks.length === 0) return <Empty title={texts.detail.chunksNone} />
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {texts.detail.chunksHint}
      </Text>
      {chunks.data.chunks.map((chunk, index) => (
        <Paper key={chunk.id} withBorder p="sm" component="section" aria-label={texts.detail.chunk(index + 1, chunk.tokens)}>
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
          <Text size="sm" mt={6} style={{ whiteSpace: 'pre-wrap' }}>
            {chunk.lead && `${chunk.lead}\n`}
            {chunk.text}
          </Text>
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

export function PageMedia({ page }: { page: Page }) {
  const media = page.media as Medium[]
  if (media.length === 0) return <Empty title={texts.detail.mediaNone} />
  const { type, url, alt, size } = texts.detail.mediaColumns
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {texts.detail.mediaHint}
      </Text>
      <div className="table-frame" role="region" aria-label={texts.page.views.media} tabIndex={0}>
        <table className="small-rows">
          <thead>
            <tr>
              {[type, url, alt, size].map((heading) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {media.map((each, index) => (
              <tr key={index}>
                <td>{each.type ?? ''}</td>
                <td>{each.url && <WebLink url={each.url} />}</td>
                <td>{each.alt || each.title || <Text span inherit c="dimmed">{texts.detail.noAlt}</Text>}</td>
                <td>{each.width && each.height ? `${each.width} × ${each.height}` : ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Stack>
  )
}

/** The open findings of the page. */
export function PageIssues({ run, page }: { run: string; page: Page }) {
  const summary = useQuery(queries.summary(run))
  const site = summary.data?.site ?? ''
  const audits = useQuery({ ...queries.audits(site), enabled: site !== '' })
  const filter = { page: page.url }
  const findings = useQuery({ ...queries.findings(site, filter, 0), enabled: site !== '' })
  if (summary.isPending || audits.isPending || findings.isPending) return <Loading />
  const error = summary.error ?? audits.error ?? findings.error
  if (error) return <Failure error={error} />
  const all = (
    <Anchor component={Link} href={sitePath(site, 'issues')} size="sm">
      {texts.detail.allIssues}
    </Anchor>
  )
  if (!audits.data?.audits.some(isDone)) return <Empty title={texts.detail.issuesNotChecked}>{all}</Empty>
  if (findings.data?.findings.length === 0) return <Empty title={texts.detail.issuesNone}>{all}</Empty>
  return (
    <Stack gap="sm">
      <FindingList site={site} run={run} filter={filter} isMixed />
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
