/** The channels: the websites that are crawled again and again. Without any, the first start. */
import { Anchor, Button, Group, NativeSelect, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import * as api from '../api/channels'
import type { Channel } from '../api/channels'
import type { RunState, Session } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Facts, Failure, Loading, Screen } from '../parts/frames'
import { Plus } from '../parts/icons'
import { RunStateLabel, StateLabel } from '../parts/states'
import { Pager, TextFilter } from '../parts/table'
import { shownUrl, Time } from '../parts/values'
import { RunProgress } from '../screens/Runs'
import { StartScreen } from '../screens/Start'
import { texts } from '../texts'

const SORTS = ['added', 'title', 'crawled'] as const
const FILTER_FROM = 6

export function ChannelsScreen({ session }: { session: Session }) {
  const [parameters, change] = useAddressState()
  const text = parameters.get('q') ?? ''
  const sort = SORTS.find((each) => each === parameters.get('sort')) ?? 'added'
  const offset = Math.max(0, Number(parameters.get('offset')) || 0)
  const channels = useQuery(api.channels(offset))
  const isEmpty = channels.data?.pagination.total === 0
  const runs = useQuery({ ...queries.runs({}, 0), enabled: isEmpty })

  if (channels.isPending || (isEmpty && runs.isPending)) return <Loading />
  if (channels.isLoadingError) return <Failure error={channels.error} retry={() => void channels.refetch()} />
  if (isEmpty) return <StartScreen session={session} isFirst runs={runs.data?.pagination.total ?? 0} />
  const { total, hasMore } = channels.data.pagination
  const shown = sorted(channels.data.channels.filter((channel) => contains(channel, text)), sort)
  return (
    <Screen
      title={texts.channels.title}
      actions={
        <Button component={Link} href="/new" leftSection={<Plus />}>
          {texts.start.addChannel}
        </Button>
      }
    >
      {total >= FILTER_FROM && (
        <Group align="flex-end" gap="sm">
          <div style={{ flex: '1 1 14rem' }}>
            <TextFilter label={texts.channels.filter} value={text} onChange={(q) => change({ q })} />
          </div>
          <NativeSelect
            aria-label={texts.channels.sort}
            value={sort}
            onChange={(event) => change({ sort: event.currentTarget.value === 'added' ? '' : event.currentTarget.value })}
            data={SORTS.map((value) => ({ value, label: texts.channels.sorts[value] }))}
          />
        </Group>
      )}
      {shown.length === 0 ? (
        <Empty title={texts.channels.noMatch}>
          <Button variant="default" onClick={() => change({ q: '' })}>
            {texts.urls.clear}
          </Button>
        </Empty>
      ) : (
        <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
          {shown.map((channel) => (
            <ChannelCard key={channel.id} channel={channel} />
          ))}
        </SimpleGrid>
      )}
      <Pager offset={offset} size={api.LIST_LIMIT} hasMore={hasMore} onChange={(to) => change({ offset: to })} />
    </Screen>
  )
}

function contains(channel: Channel, text: string): boolean {
  return `${channel.title} ${channel.url}`.toLowerCase().includes(text.toLowerCase())
}

function sorted(channels: Channel[], by: (typeof SORTS)[number]): Channel[] {
  if (by === 'title') return channels.sort((a, b) => channelName(a).localeCompare(channelName(b)))
  if (by === 'crawled') return channels.sort((a, b) => (b.lastCrawledAt ?? '').localeCompare(a.lastCrawledAt ?? ''))
  return channels
}

/** The title of a channel; where nobody has entered one, its site. */
export function channelName(channel: Channel): string {
  return channel.title === channel.url ? channel.site : channel.title
}

export function CrawlStateLabel({ state }: { state: RunState | null }) {
  return state === null ? <StateLabel tone="plain" word={texts.channels.never} /> : <RunStateLabel state={state} />
}

function ChannelCard({ channel }: { channel: Channel }) {
  const href = `/channels/${channel.id}`
  const isCrawled = channel.crawlStatus !== null && isActive(channel.crawlStatus)
  const figures = useQuery({ ...api.statistics(channel.id), staleTime: 10_000 })
  const status = useQuery({ ...api.status(channel.id), enabled: isCrawled })
  const run = status.data?.isActive ? status.data.job?.id : undefined
  const summary = useQuery({ ...queries.summary(run ?? ''), enabled: run !== undefined, refetchInterval: 3000 })
  const failed = figures.data?.lastCrawl?.statistics.pagesFailed ?? 0
  return (
    <Paper withBorder p="md" component="section" aria-label={channelName(channel)}>
      <Stack gap="sm" h="100%">
        <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
          <div style={{ minWidth: 0 }}>
            <Title order={2} size="h4">
              <Anchor component={Link} href={href} inherit>
                {channelName(channel)}
              </Anchor>
            </Title>
            <Text size="sm" c="dimmed" className="one-line" title={channel.url}>
              {shownUrl(channel.url)}
            </Text>
          </div>
          <CrawlStateLabel state={channel.crawlStatus} />
        </Group>
        {isCrawled && status.data && (
          <div>
            <Text size="sm">{status.data.progress}</Text>
            {summary.data && <RunProgress summary={summary.data} />}
          </div>
        )}
        <Facts
          items={[
            [texts.channels.pages, figures.data ? figures.data.pages.active.toLocaleString() : texts.none],
            figures.data !== undefined &&
              figures.data.media.total > 0 && [texts.channels.media, figures.data.media.total.toLocaleString()],
            failed > 0 && [
              texts.channels.failedPages,
              <Anchor component={Link} href={`${href}/pages?status=FAILED`} size="sm">
                {failed.toLocaleString()}
              </Anchor>,
            ],
            !isCrawled && [texts.channels.lastCrawl, <Time value={channel.lastCrawledAt} />],
            [texts.channels.nextCrawl, <NextRun channel={channel} />],
          ]}
        />
      </Stack>
    </Paper>
  )
}

/** When the next crawl starts, or why none is planned. */
export function NextRun({ channel }: { channel: Channel }) {
  if (channel.schedule?.nextRunAt) return <Time value={channel.schedule.nextRunAt} />
  return <>{channel.crawlStatus === 'COMPLETED' ? texts.channels.noSchedule : texts.channels.afterFirst}</>
}
