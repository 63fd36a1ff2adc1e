/** What could not be read, by state and by cause, each with its first URLs. */
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { address, type Summary, type UrlState } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { Empty, Loading, Section } from '../parts/frames'
import { ERROR_STATES, urlWord } from '../parts/states'
import { shownUrl } from '../parts/values'
import { texts } from '../texts'

const EXAMPLES = 5

interface ErrorGroup {
  title: string
  count: number
  filter: queries.UrlFilter
}

export function ErrorsTab({ summary, inspect }: { summary: Summary; inspect: (url: string) => void }) {
  const { counts } = summary
  const causes: ErrorGroup[] = Object.entries(counts.errors).map(([error, count]) => ({ title: error, count, filter: { error } }))
  // FAILED always has a cause, so it is in the groups above.
  const states: ErrorGroup[] = ERROR_STATES.filter((state) => state !== 'FAILED' && counts.by_status[state]).map((state: UrlState) => ({
    title: urlWord(state),
    count: counts.by_status[state] ?? 0,
    filter: { status: [state] },
  }))
  const groups = [...causes, ...states].sort((a, b) => b.count - a.count)
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
            <div key={row.id}>
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
