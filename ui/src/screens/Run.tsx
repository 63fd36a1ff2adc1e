/** The run explorer: what a run does now, its URLs, how they were found, and what went wrong. */
import { Alert, Anchor, Button, Group, Menu, Modal, Stack, Tabs, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { address, ApiError, post, runPath, sitePath, type Run, type Summary } from '../api/client'
import { isActive, useFollow } from '../api/follow'
import * as queries from '../api/queries'
import { LineageTab } from '../lineage/LineageTab'
import { Failure, Loading, Missing, Screen } from '../parts/frames'
import { Back, Download, Play } from '../parts/icons'
import { LiveBar } from '../parts/live'
import { RunStateLabel } from '../parts/states'
import { WebLink } from '../parts/values'
import { TabStrip } from '../parts/tabs'
import { texts } from '../texts'
import { ErrorsTab } from './Errors'
import { NodeDrawer } from './Node'
import { OverviewTab } from './Overview'
import { EventsTab, HostsTab } from './Progress'
import { UrlsTab } from './Urls'

const TABS = ['overview', 'urls', 'lineage', 'hosts', 'errors', 'events'] as const
type Tab = (typeof TABS)[number]
const EXPORTS = ['csv', 'json', 'jsonl'] as const

export function RunScreen({ run, tab }: { run: string; tab: string }) {
  const summary = useQuery(queries.summary(run))
  const [isPaused, setPaused] = useState(false)
  const active = summary.data !== undefined && isActive(summary.data.status)
  const { connection, samples } = useFollow(run, active, isPaused)
  const [parameters, setParameters] = useSearchParams()
  const [, go] = useLocation()
  const node = parameters.get('node')

  if (summary.isPending) return <Loading />
  if (summary.error instanceof ApiError && summary.error.status === 404) {
    return (
      <Missing title={texts.run.missing} href="/runs" label={texts.run.back} />
    )
  }
  if (summary.isLoadingError) return <Failure error={summary.error} retry={() => void summary.refetch()} />

  const data = summary.data
  const shown: Tab = TABS.find((each) => each === tab) ?? 'overview'
  function inspect(url: string | null) {
    setParameters((before) => {
      const after = new URLSearchParams(before)
      if (url === null) after.delete('node')
      else after.set('node', url)
      return after
    })
  }
  return (
    <Screen title={data.site} heading={<Heading summary={data} />} actions={<Actions summary={data} />}>
      {data.status === 'FAILED' && (
        <Alert color="red" variant="outline" title={texts.run.failedBecause} role="alert">
          {data.error}
        </Alert>
      )}
      {active && (
        <LiveBar
          text={texts.run.progress(data.counts.pages, data.counts.total_urls, true)}
          connection={connection}
          isPaused={isPaused}
          setPaused={setPaused}
        />
      )}
      <Tabs value={shown} onChange={(value) => go(`/runs/${run}${value === 'overview' ? '' : `/${value}`}`)} keepMounted={false}>
        <TabStrip label={texts.run.tabsLabel} names={texts.run.tabs} shown={shown} />
        <Tabs.Panel value="overview">
          <OverviewTab summary={data} samples={samples} />
        </Tabs.Panel>
        <Tabs.Panel value="urls">
          <UrlsTab run={run} inspect={inspect} isActive={active} />
        </Tabs.Panel>
        <Tabs.Panel value="lineage">
          <LineageTab run={run} inspect={inspect} isLive={active && !isPaused} />
        </Tabs.Panel>
        <Tabs.Panel value="hosts">
          <HostsTab summary={data} />
        </Tabs.Panel>
        <Tabs.Panel value="events">
          <EventsTab summary={data} />
        </Tabs.Panel>
        <Tabs.Panel value="errors">
          <ErrorsTab summary={data} inspect={inspect} />
        </Tabs.Panel>
      </Tabs>
      <NodeDrawer run={run} url={node} close={() => inspect(null)} inspect={inspect} />
    </Screen>
  )
}

function Heading({ summary }: { summary: Summary }) {
  return (
    <Stack gap={4}>
      <Anchor component={Link} href="/runs" size="sm">
        <Group gap={2} component="span">
          <Back /> {texts.run.back}
        </Group>
      </Anchor>
      <Group gap="sm">
        <Title order={1} size="h2">
          {summary.site}
        </Title>
        <RunStateLabel state={summary.status} />
      </Group>
      {summary.seed_url && <WebLink url={summary.seed_url}>{summary.seed_url}</WebLink>}
    </Stack>
  )
}

function Actions({ summary }: { summary: Summary }) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const [isAsking, asking] = useDisclosure()
  const act = useMutation({
    mutationFn: (what: 'cancel' | 'resume') => post<Run>(runPath(summary.id, what)),
    onSettled: async () => {
      asking.close()
      await client.invalidateQueries({ queryKey: ['summary', summary.id] })
      await client.invalidateQueries({ queryKey: ['runs'] })
    },
  })
  const canCancel = isActive(summary.status) || summary.status === 'INTERRUPTED'
  return (
    <Group gap="xs">
      {summary.status === 'INTERRUPTED' && (
        <Button leftSection={<Play />} loading={act.isPending} onClick={() => act.mutate('resume')}>
          {texts.run.resume}
        </Button>
      )}
      {canCancel && (
        <Button variant="default" onClick={asking.open}>
          {texts.run.cancel}
        </Button>
      )}
      {summary.status === 'COMPLETED' && (
        <Button component={Link} href={sitePath(summary.site, 'issues')} variant="default">
          {texts.issues.title}
        </Button>
      )}
      {!canCancel && (
        <Button variant="default" onClick={() => go(`/new?once=1&url=${encodeURIComponent(summary.seed_url ?? '')}`)}>
          {texts.run.again}
        </Button>
      )}
      <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <Button variant="default" leftSection={<Download />}>
            {texts.run.exports}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {EXPORTS.map((format) => (
            <Menu.Item key={format} component="a" href={address(runPath(summary.id, 'export'), { format })} download>
              {texts.run.export[format]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Modal opened={isAsking} onClose={asking.close} title={texts.run.cancelTitle} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
        <Text mb="md">{texts.run.cancelText}</Text>
        {act.error && <Failure error={act.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={asking.close} data-autofocus>
            {texts.run.cancelNo}
          </Button>
          <Button color="red.9" loading={act.isPending} onClick={() => act.mutate('cancel')}>
            {texts.run.cancelYes}
          </Button>
        </Group>
      </Modal>
    </Group>
  )
}
