/** What could not be read, by state and by cause, each with its first URLs. */
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { address, type Summary, type UrlState } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { Empty, Loading, Section } from '../parts/frames'
import { causeWord, reasonWord, urlWord } from '../parts/states'
import { shownUrl } from '../parts/values'
import { texts } from '../texts'

const EXAMPLES = 5
const WITHOUT_CAUSE: readonly UrlState[] = ['NOT_FOUND', 'SOFT_404', 'FORBIDDEN']
/** Reasons for which a URL was skipped although the crawl meant to read it. */
const UNREACHABLE = ['robots_unreachable', 'too_large', 'address_refused']

interface ErrorGroup {
  title: string
  count: number
  filter: queries.UrlFilter
}

export function ErrorsTab({ summary, inspect }: { summary: Summary; inspect: (url: string) => void }) {
  const { counts } = summary
  const causes: ErrorGroup[] = Object.entries(counts.errors).map(([error, count]) => ({ title: causeWord(error), count, filter: { error } }))
  // What has a cause is in the groups above.
  const states: ErrorGroup[] = WITHOUT_CAUSE.filter((state) => counts.by_status[state]).map((state) => ({
    title: urlWord(state),
    count: counts.by_status[state] ?? 0,
    filter: { status: [state] },
  }))
  const unreachable: ErrorGroup[] = UNREACHABLE.filter((reason) => counts.skipped[reason]).map((reason) => ({
    title: reasonWord(reason),
    count: counts.skipped[reason] ?? 0,
    filter: { skip_reason: [reason] },
  }))
  const groups = [...causes, ...states, ...unreachable].sort((a, b) => b.count - a.count)
  if (groups.length === 0) return <Empty title={isActive(summary.status) ? texts.errors.soFar : texts.errors.none} />
  return (
    <Stack>
      {groups.map((group) => (
        <Cause key={group.title} run={summary.id} group={group} inspect={inspect} />
      ))}
    </Stack>
  )
}

function Cause({ run, group, inspect }: { run: string; group: ErrorGroup; inspect: (url: string) => void }) {
  const first = useQuery(queries.urls(run, group.filter, 'id', 'asc', 0, EXAMPLES))
  return (
    <Section
      title={group.title}
      actions={
        <Anchor component={Link} href={address(`/runs/${run}/urls`, { ...group.filter })} size="sm">
          {texts.errors.show(group.count)}
        </Anchor>
      }
    >
      {first.isPending ? (
        <Loading height="3rem" />
      ) : (
        <Stack gap="xs">
          {first.data?.urls.map((row) => (
            <div key={row.id} style={{ fontSize: '0.92rem' }}>
              <button type="button" className="link-button" onClick={() => inspect(row.url)}>
                {shownUrl(row.url)}
              </button>
              <Group gap="xs">
                {(row.error || row.detail) && (
                  <Text size="sm" c="dimmed">
                    {row.error || row.detail}
                  </Text>
                )}
                {row.discovered_from_url_id && (
                  <Text size="sm" c="dimmed">
                    {texts.node.parent} {shownUrl(row.discovered_from_url_id)}
                  </Text>
                )}
              </Group>
            </div>
          ))}
        </Stack>
      )}
    </Section>
  )
}
