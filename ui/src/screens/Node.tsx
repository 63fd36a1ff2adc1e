/** The inspector of one URL: what happened to it and why. It opens over every list and over the lineage. */
import { Anchor, Button, Drawer, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { address, type Explanation, type UrlRow } from '../api/client'
import * as queries from '../api/queries'
import { Facts, Failure, Loading } from '../parts/frames'
import { Check, Cross, Dash } from '../parts/icons'
import { reasonWord, UrlStateLabel } from '../parts/states'
import { bytes, duration, shownUrl, Time, WebLink } from '../parts/values'
import { texts } from '../texts'

interface NodeDrawerProps {
  run: string
  url: string | null
  close: () => void
  inspect: (url: string) => void
}

export function NodeDrawer({ run, url, close, inspect }: NodeDrawerProps) {
  return (
    <Drawer
      opened={url !== null}
      onClose={close}
      position="right"
      size="lg"
      title={texts.node.title}
      closeButtonProps={{ 'aria-label': texts.node.close }}
    >
      {url !== null && <Node run={run} url={url} inspect={inspect} />}
    </Drawer>
  )
}

function Node({ run, url, inspect }: { run: string; url: string; inspect: (url: string) => void }) {
  const explanation = useQuery(queries.explanation(run, url))
  if (explanation.isPending) return <Loading />
  if (explanation.isLoadingError) return <Failure error={explanation.error} retry={() => void explanation.refetch()} />
  const { row } = explanation.data
  return (
    <Stack>
      <Title order={2} size="h4">
        {row?.title || shownUrl(url)}
      </Title>
      <WebLink url={url}>{url}</WebLink>
      {row && isRead(row) && (
        <Group>
          <Button component={Link} href={address(`/runs/${run}/page`, { url })}>
            {texts.node.read}
          </Button>
        </Group>
      )}
      {row && <RowFacts row={row} inspect={inspect} />}
      <Title order={3} size="h5">
        {texts.node.why}
      </Title>
      <Gates explanation={explanation.data} />
    </Stack>
  )
}

export function isRead(row: UrlRow): boolean {
  const unchanged = row.skip_reason === 'unchanged_lastmod' || row.skip_reason === 'within_ttl'
  return row.status === 'VISITED' || row.status === 'NOT_MODIFIED' || unchanged
}

function RowFacts({ row, inspect }: { row: UrlRow; inspect: (url: string) => void }) {
  const parent = row.discovered_from_url_id
  return (
    <Facts
      items={[
        [texts.node.state, <UrlStateLabel state={row.status} />],
        row.skip_reason !== null && [texts.node.reason, reasonWord(row.skip_reason)],
        row.status_code !== null && [texts.node.code, row.status_code],
        [texts.node.depth, row.depth],
        [
          texts.node.parent,
          parent ? (
            <button type="button" className="link-button" onClick={() => inspect(parent)}>
              {shownUrl(parent)}
            </button>
          ) : (
            texts.node.seed
          ),
        ],
        row.error !== '' && [texts.node.error, row.error],
        row.detail !== '' && [texts.node.detail, row.detail],
        row.final_url !== null && row.final_url !== row.url && [texts.node.final, shownUrl(row.final_url)],
        row.redirect_chain.length > 0 && [
          texts.node.redirects,
          row.redirect_chain.map((hop) => `${hop.status} ${shownUrl(hop.url)}`).join(' → '),
        ],
        [texts.node.retries, row.retry_count],
        [texts.node.fetches, row.fetches],
        row.content_type !== '' && [texts.node.type, row.content_type],
        row.body_bytes > 0 && [texts.node.size, bytes(row.body_bytes)],
        row.elapsed_ms !== null && [texts.node.elapsed, duration(row.elapsed_ms)],
        row.visited_at !== null && [texts.node.visited, <Time value={row.visited_at} />],
        row.claimed_by_worker !== null && [texts.node.worker, row.claimed_by_worker],
      ]}
    />
  )
}

/** The checks that a URL passed, in the order in which a crawl applies them. */
export function Gates({ explanation }: { explanation: Explanation }) {
  return (
    <ol className="gates">
      {explanation.gates.map((gate) => {
        const [Icon, tone, word] =
          gate.passed === null
            ? ([Dash, 'plain', texts.node.skipped] as const)
            : gate.passed
              ? ([Check, 'good', texts.node.passed] as const)
              : ([Cross, 'bad', texts.node.failed] as const)
        return (
          <li key={gate.gate}>
            <span className={`tone-${tone}`} style={{ color: 'var(--tone)' }} title={word}>
              <Icon />
            </span>
            <div>
              <Text span fw={600} inherit>
                {texts.node.gates[gate.gate] ?? gate.gate}
              </Text>{' '}
              <Text span c="dimmed" inherit>
                ({word})
              </Text>
              <div>{texts.urlState[gate.rule as UrlRow['status']] ?? gate.rule}</div>
              {gate.detail && (
                <Text size="sm" c="dimmed">
                  {gate.detail}
                </Text>
              )}
            </div>
          </li>
        )
      })}
    </ol>
  )
}

export function UrlLink({ run, url }: { run: string; url: string }) {
  return (
    <Anchor component={Link} href={address(`/runs/${run}/page`, { url })} size="sm">
      {shownUrl(url)}
    </Anchor>
  )
}
