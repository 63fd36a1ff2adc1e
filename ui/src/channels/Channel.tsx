/** A channel: its state and figures, crawling it again, and its tabs. */
import { Alert, Anchor, Button, Group, Menu, Modal, Stack, Tabs, Text, TextInput, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState, type FormEvent } from 'react'
import { Link, useLocation } from 'wouter'
import * as api from '../api/channels'
import type { Channel, CrawlStatus, Job, Statistics } from '../api/channels'
import { ApiError, post } from '../api/client'
import { useFollow } from '../api/follow'
import * as queries from '../api/queries'
import { Failure, Figure, Loading, message, Missing, Screen } from '../parts/frames'
import { Back, Refresh } from '../parts/icons'
import { LiveBar } from '../parts/live'
import { bytes, percent, Time, WebLink } from '../parts/values'
import { RunProgress } from '../screens/Runs'
import { SearchPanel } from '../screens/Search'
import { Held } from '../screens/Sites'
import { TabStrip } from '../parts/tabs'
import { texts } from '../texts'
import { channelName, CrawlStateLabel, NextRun } from './Channels'
import { HistoryTab } from './History'
import { MediaTab } from './Media'
import { OverviewTab } from './Overview'
import { PagesTab } from './Pages'
import { SettingsTab } from './Settings'

const InsightsTab = lazy(() => import('../audit/Insights').then(({ InsightsTab }) => ({ default: InsightsTab })))
const IssuesTab = lazy(() => import('../audit/Issues').then(({ IssuesTab }) => ({ default: IssuesTab })))

const TABS = ['overview', 'pages', 'media', 'insights', 'issues', 'history', 'search', 'settings'] as const
type Tab = (typeof TABS)[number]

export default function ChannelScreen({ id, tab }: { id: string; tab: string }) {
  const [isPaused, setPaused] = useState(false)
  const channel = useQuery(api.channel(id))
  const status = useQuery(api.status(id, isPaused))
  const figures = useQuery(api.statistics(id))
  const run = status.data?.job?.id ?? ''
  const active = status.data?.isActive ?? false
  const summary = useQuery({ ...queries.summary(run), enabled: run !== '' })
  const { connection } = useFollow(run, active, isPaused, ['channel', id])
  const [, go] = useLocation()

  if (channel.error instanceof ApiError && channel.error.status === 404) {
    return (
      <Missing title={texts.channel.missing} href="/" label={texts.channel.back} />
    )
  }
  if (channel.isLoadingError) return <Failure error={channel.error} retry={() => void channel.refetch()} />
  if (status.isLoadingError) return <Failure error={status.error} retry={() => void status.refetch()} />
  if (channel.isPending || status.isPending) return <Loading />

  const failed = [summary, figures].find((each) => each.isLoadingError)
  const shown: Tab = TABS.find((each) => each === tab) ?? 'overview'
  const { site } = channel.data
  const live = summary.data && active ? summary.data : undefined
  return (
    <Screen
      title={channelName(channel.data)}
      heading={<Heading channel={channel.data} status={status.data} />}
      actions={<Recrawl channel={channel.data} isActive={active} />}
    >
      {status.data.status === 'FAILED' && status.data.errorMessage && (
        <Alert color="red" variant="outline" title={texts.run.failedBecause} role="alert">
          {status.data.errorMessage}
        </Alert>
      )}
      <HeldPages site={channel.data.site} />
      {live && (
        <div>
          <LiveBar
            text={texts.channel.progress(live.counts.pages, live.run_config.maxPages, live.counts.media)}
            connection={connection}
            isPaused={isPaused}
            setPaused={setPaused}
          />
          <RunProgress summary={live} />
        </div>
      )}
      {figures.data && <Figures figures={figures.data} isBesideTab={shown !== 'overview'} />}
      <Tabs
        value={shown}
        onChange={(to) => go(`/channels/${id}${to === 'overview' ? '' : `/${to}`}`)}
        keepMounted={false}
        activateTabWithKeyboard={false}
      >
        <TabStrip label={texts.channel.tabsLabel} names={texts.channel.tabs} shown={shown} />
        <Tabs.Panel value="overview">
          {failed ? (
            <Failure error={failed.error} retry={() => void failed.refetch()} />
          ) : (
            <OverviewTab channel={channel.data} summary={summary.data} figures={figures.data} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="pages">
          <PagesTab channel={channel.data} isActive={active} />
        </Tabs.Panel>
        <Tabs.Panel value="media">
          <MediaTab channel={channel.data} figures={figures.data} isActive={active} />
        </Tabs.Panel>
        <Tabs.Panel value="insights">
          <Suspense fallback={<Loading />}>
            <InsightsTab site={site} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="issues">
          <Suspense fallback={<Loading />}>
            <IssuesTab site={site} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <HistoryTab channel={channel.data} isActive={active} />
        </Tabs.Panel>
        <Tabs.Panel value="search">
          <SearchPanel within={channel.data.site} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <SettingsTab channel={channel.data} />
        </Tabs.Panel>
      </Tabs>
    </Screen>
  )
}

function Heading({ channel, status }: { channel: Channel; status: CrawlStatus }) {
  return (
    <Stack gap={4}>
      <Anchor component={Link} href="/" size="sm">
        <Group gap={2} component="span">
          <Back /> {texts.channel.back}
        </Group>
      </Anchor>
      <Group gap="sm">
        <Title order={1} size="h2">
          {channelName(channel)}
        </Title>
        <CrawlStateLabel state={status.status} />
      </Group>
      <WebLink url={channel.url}>{channel.url}</WebLink>
      <Group gap="0 0.75rem">
        {channel.lastCrawledAt !== null && !status.isActive && (
          <Text size="sm" c="dimmed">
            {texts.channels.lastCrawl}: <Time value={channel.lastCrawledAt} />
          </Text>
        )}
        <Text size="sm" c="dimmed">
          {texts.channels.nextCrawl}: <NextRun channel={channel} />
        </Text>
      </Group>
    </Stack>
  )
}

function Figures({ figures, isBesideTab }: { figures: Statistics; isBesideTab: boolean }) {
  const { pages, media, storage } = figures
  return (
    <div className={`figures compact${isBesideTab ? ' beside-tab' : ''}`}>
      <Figure label={texts.channels.pages} value={pages.active.toLocaleString()} hint={pages.failed > 0 ? texts.channel.failed(pages.failed) : undefined} />
      <Figure label={texts.channel.images} value={media.images.toLocaleString()} />
      <Figure label={texts.channel.videos} value={media.videos.toLocaleString()} />
      <Figure label={texts.channel.documents} value={media.documents.toLocaleString()} />
      <Figure label={texts.channel.duplicates} value={media.duplicatesSkipped.toLocaleString()} />
      <Figure
        label={texts.channel.saved}
        value={bytes(storage.compressionSavingsBytes)}
        hint={storage.compressionRatio > 0 ? texts.channel.savedShare(percent(storage.compressionRatio)) : undefined}
      />
    </div>
  )
}

function HeldPages({ site }: { site: string }) {
  const sites = useQuery(queries.sites)
  const held = sites.data?.sites.find((each) => each.name === site)?.held ?? 0
  return held > 0 ? <Held site={site} path={`/sites/${encodeURIComponent(site)}`} count={held} /> : null
}

type Extent = { urls: string[] } | 'all'

/** Buttons that start a crawl; while one is running, the reason why not. */
function Recrawl({ channel, isActive }: { channel: Channel; isActive: boolean }) {
  const client = useQueryClient()
  const [isAsking, asking] = useDisclosure()
  const start = useMutation({
    mutationFn: (extent: Extent) =>
      extent === 'all'
        ? post<Job>(api.channelPath(channel.id, 'webcrawl/start'))
        : post<Job>(api.channelPath(channel.id, 'webcrawl/changed'), extent),
    onSuccess: asking.close,
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ['channel', channel.id] }),
        client.invalidateQueries({ queryKey: ['runs'] }),
      ]),
  })
  const isFirst = channel.lastCrawledAt === null && channel.crawlStatus === null
  return (
    <div className="actions">
      <Menu position="bottom-end" withInitialFocusPlaceholder={false} disabled={isActive}>
        <Menu.Target>
          <Button
            leftSection={<Refresh />}
            disabled={isActive}
            loading={start.isPending}
            aria-describedby={isActive ? 'recrawl-reason' : undefined}
          >
            {isFirst ? texts.channel.crawl : texts.channel.recrawl}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => start.mutate('all')}>{texts.channel.recrawlAll}</Menu.Item>
          {!isFirst && <Menu.Item onClick={() => start.mutate({ urls: [] })}>{texts.channel.recrawlChanged}</Menu.Item>}
          <Menu.Item onClick={asking.open}>{texts.channel.recrawlOne}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isActive && (
        <Text size="xs" c="dimmed" id="recrawl-reason">
          {texts.channel.busy}
        </Text>
      )}
      {start.error && !isAsking && <Failure error={start.error} />}
      <Modal opened={isAsking} onClose={asking.close} title={texts.channel.oneTitle} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
        <OneUrl channel={channel} isPending={start.isPending} error={start.error} start={(url) => start.mutate({ urls: [url] })} />
      </Modal>
    </div>
  )
}

interface OneUrlProps {
  channel: Channel
  isPending: boolean
  error: unknown
  start: (url: string) => void
}

function OneUrl({ channel, isPending, error, start }: OneUrlProps) {
  const [typed, setTyped] = useState(channel.url)
  function submit(event: FormEvent) {
    event.preventDefault()
    start(typed.trim())
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={texts.channel.oneLabel}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          error={error ? message(error) : undefined}
          data-autofocus
        />
        <Group justify="flex-end">
          <Button type="submit" loading={isPending} disabled={typed.trim() === ''}>
            {texts.channel.recrawl}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
