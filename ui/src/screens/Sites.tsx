/** All sites with the state of their index, re-crawls, and decisions about pages that disappeared at once. */
import { Alert, Button, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { address, get, post, sitePath, type HeldPages, type Run, type RunList, type Site } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { Empty, Facts, Failure, Loading, Screen } from '../parts/frames'
import { Plus } from '../parts/icons'
import { RunStateLabel } from '../parts/states'
import { Time } from '../parts/values'
import { texts } from '../texts'

export function SitesScreen() {
  const sites = useQuery(queries.sites)
  if (sites.isPending) return <Loading />
  if (sites.isLoadingError) return <Failure error={sites.error} retry={() => void sites.refetch()} />
  return (
    <Screen
      title={texts.sites.title}
      actions={
        <Button component={Link} href="/new" leftSection={<Plus />}>
          {texts.runs.new}
        </Button>
      }
    >
      {sites.data.sites.length === 0 ? (
        <Empty title={texts.sites.empty} hint={texts.sites.emptyHint} />
      ) : (
        <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
          {sites.data.sites.map((site) => (
            <SiteCard key={site.name} site={site} />
          ))}
        </SimpleGrid>
      )}
    </Screen>
  )
}

function SiteCard({ site }: { site: Site }) {
  const [, go] = useLocation()
  const client = useQueryClient()
  const path = sitePath(site.name)
  const last = useQuery({
    queryKey: ['runs', 'site', site.name],
    queryFn: () => get<RunList>('/crawl-runs', { site: site.name, limit: 1 }),
    refetchInterval: 5000,
  })
  const run = last.data?.runs[0]
  const isBusy = run !== undefined && isActive(run.status)
  const start = useMutation({
    mutationFn: (pipeline: string) => post<Run>(`${path}/pipelines/${pipeline}`, { urls: [] }),
    onSuccess: (created) => {
      void client.invalidateQueries({ queryKey: ['runs'] })
      go(`/runs/${created.id}`)
    },
  })
  return (
    <Paper withBorder p="md" component="section" aria-label={site.name}>
      <Stack gap="sm" h="100%">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h4">
            {site.name}
          </Title>
          {run && (
            <Link href={`/runs/${run.id}`} aria-label={`${texts.sites.runs}: ${texts.runState[run.status]}`}>
              <RunStateLabel state={run.status} />
            </Link>
          )}
        </Group>
        <Facts
          items={[
            [texts.sites.pages, site.pages.toLocaleString()],
            [texts.sites.chunks, site.chunks.toLocaleString()],
            site.embedded > 0 && [texts.sites.embedded, site.embedded.toLocaleString()],
            site.waiting > 0 && [texts.sites.waiting, site.waiting.toLocaleString()],
            run !== undefined && [texts.sites.runs, <Time value={run.created_at} />],
          ]}
        />
        {site.held > 0 && <Held site={site.name} path={path} count={site.held} />}
        {start.error && <Failure error={start.error} />}
        <Group gap="xs" mt="auto">
          <Button component={Link} href={address('/search', { site: site.name })} variant="default" size="xs">
            {texts.sites.search}
          </Button>
          <Button component={Link} href={sitePath(site.name, 'issues')} variant="default" size="xs">
            {texts.issues.title}
          </Button>
          <Button component={Link} href={sitePath(site.name, 'insights')} variant="default" size="xs">
            {texts.insights.title}
          </Button>
          <Button variant="default" size="xs" disabled={isBusy} loading={start.isPending} onClick={() => start.mutate('update-delta')}>
            {texts.sites.changed}
          </Button>
          <Button variant="default" size="xs" disabled={isBusy} loading={start.isPending} onClick={() => start.mutate('index-site')}>
            {texts.sites.full}
          </Button>
        </Group>
        {isBusy && (
          <Text size="sm" c="dimmed">
            {texts.sites.blocked}
          </Text>
        )}
      </Stack>
    </Paper>
  )
}

export function Held({ site, path, count }: { site: string; path: string; count: number }) {
  const client = useQueryClient()
  const decide = useMutation({
    mutationFn: (agree: boolean) => post<HeldPages>(`${path}/deletions`, { agree }),
    onSettled: () => client.invalidateQueries({ queryKey: ['sites'] }),
  })
  return (
    <Alert color="yellow" variant="outline" aria-label={site}>
      <Stack gap="xs">
        <Text size="sm">{texts.sites.held(count)}</Text>
        {decide.error && <Failure error={decide.error} />}
        <Group gap="xs">
          <Button size="xs" variant="default" loading={decide.isPending} onClick={() => decide.mutate(false)}>
            {texts.sites.keep}
          </Button>
          <Button size="xs" color="red.9" loading={decide.isPending} onClick={() => decide.mutate(true)}>
            {texts.sites.agree}
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}
