/** The frame of the screens about one site: its name, links between them, and the state of its audits. */
import { Alert, Anchor, Button, Group, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, type ReactNode } from 'react'
import { Link } from 'wouter'
import { ApiError, post, sitePath, type Audit } from '../api/client'
import * as queries from '../api/queries'
import { Empty, Failure, Loading, Screen } from '../parts/frames'
import { Back } from '../parts/icons'
import { texts } from '../texts'

export type SitePart = 'issues' | 'insights'

interface SiteFrameProps {
  site: string
  part: SitePart
  actions?: ReactNode
  /** Shown when an audit is done. */
  children: (done: readonly Audit[]) => ReactNode
}

export function isDone(audit: Audit): boolean {
  return audit.state === 'done'
}

/** A screen about a site, with a channel or without. */
export function SiteFrame({ site, part, actions, children }: SiteFrameProps) {
  const title = part === 'issues' ? texts.issues.ofSite(site) : texts.insights.ofSite(site)
  return (
    <Screen title={title} heading={<Heading site={site} part={part} />} actions={<Group gap="xs">{actions}</Group>}>
      <SiteAudits site={site}>{children}</SiteAudits>
    </Screen>
  )
}

/** What the audits of a site found: their state, and what to show when one is done. */
export function SiteAudits({ site, children }: { site: string; children: (done: readonly Audit[]) => ReactNode }) {
  const audits = useQuery(queries.audits(site))
  const client = useQueryClient()
  const unfinished = audits.data?.audits.find((audit) => audit.state === 'waiting' || audit.state === 'running')
  const wasUnfinished = useRef(false)
  useEffect(() => {
    if (wasUnfinished.current && !unfinished) void client.invalidateQueries({ queryKey: ['audit', site] })
    wasUnfinished.current = unfinished !== undefined
  }, [client, site, unfinished])

  if (audits.isPending) return <Loading />
  if (audits.error instanceof ApiError && audits.error.status === 404) return <Empty title={texts.channels.never} hint={texts.channel.neverHint} />
  if (audits.isLoadingError) return <Failure error={audits.error} retry={() => void audits.refetch()} />
  return (
    <Stack>
      <Content site={site} audits={audits.data.audits} unfinished={unfinished}>
        {children}
      </Content>
    </Stack>
  )
}

interface ContentProps {
  site: string
  audits: readonly Audit[]
  unfinished: Audit | undefined
  children: (done: readonly Audit[]) => ReactNode
}

function Content({ site, audits, unfinished, children }: ContentProps) {
  // An audit that is done again keeps its last result until then.
  const done = audits.filter((audit) => isDone(audit) || (audit === unfinished && audit.score !== null && audit.state === 'waiting'))
  const latest = audits[0]
  return (
    <>
      {unfinished && <Running audit={unfinished} />}
      {!unfinished && latest?.state === 'failed' && (
        <Alert color="red" variant="outline" title={texts.issues.failed} role="alert">
          {latest.error}
        </Alert>
      )}
      {done.length > 0
        ? children(done)
        : !unfinished && (
            <Empty title={texts.issues.notYet} hint={texts.issues.notYetHint}>
              <AuditButton site={site} label={texts.issues.first} isFirst />
            </Empty>
          )}
    </>
  )
}

function Running({ audit }: { audit: Audit }) {
  return (
    <Alert color="blue" variant="outline" role="status">
      <Text inherit>
        {audit.state === 'waiting' ? texts.issues.waiting : texts.issues.running}
        {audit.phase && ` ${texts.issues.phases[audit.phase] ?? audit.phase}`}
        {audit.state === 'running' && audit.pages > 0 && ` · ${texts.issues.checkedPages(audit.pages)}`}
      </Text>
    </Alert>
  )
}

/** Starts an audit of the latest completed run. */
export function AuditButton({ site, label, isFirst = false }: { site: string; label: string; isFirst?: boolean }) {
  const client = useQueryClient()
  const audits = useQuery(queries.audits(site))
  const isBusy = audits.data?.audits.some((audit) => audit.state === 'waiting' || audit.state === 'running') ?? false
  const start = useMutation({
    mutationFn: () => post<Audit>(sitePath(site, 'audits')),
    onSuccess: () => client.invalidateQueries({ queryKey: ['audit', site, 'audits'] }),
  })
  return (
    <Stack gap="xs" align="flex-start">
      <Button variant={isFirst ? 'filled' : 'default'} loading={start.isPending} disabled={isBusy} onClick={() => start.mutate()}>
        {label}
      </Button>
      {start.error && <Failure error={start.error} />}
    </Stack>
  )
}

function Heading({ site, part }: { site: string; part: SitePart }) {
  return (
    <Stack gap={4}>
      <Anchor component={Link} href="/sites" size="sm">
        <Group gap={2} component="span">
          <Back /> {texts.issues.back}
        </Group>
      </Anchor>
      <Title order={1} size="h2">
        {texts[part].title}{' '}
        <Text span inherit c="dimmed" fw={500}>
          {site}
        </Text>
      </Title>
      <Group gap="md" component="nav" aria-label={texts.issues.siteNav}>
        {(['issues', 'insights'] as const).map((each) => (
          <Anchor key={each} component={Link} href={sitePath(site, each)} size="sm" fw={each === part ? 700 : 400} aria-current={each === part ? 'page' : undefined}>
            {texts[each].title}
          </Anchor>
        ))}
      </Group>
    </Stack>
  )
}
