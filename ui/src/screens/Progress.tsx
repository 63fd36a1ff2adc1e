/** What a run does now: its hosts, and the events that it reported. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Events, Hosts, Summary, UrlState } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { Empty, Failure, Loading } from '../parts/frames'
import { ERROR_STATES, WarningLabel } from '../parts/states'
import { LocalTable, type LocalColumn } from '../parts/table'
import { duration, Time } from '../parts/values'
import { texts } from '../texts'
import { UrlLink } from './Node'

type Host = Hosts['hosts'][number]
type Event = Events['events'][number]

const READ: readonly UrlState[] = ['VISITED', 'NOT_MODIFIED']
const WAITING: readonly UrlState[] = ['DISCOVERED', 'QUEUED', 'IN_PROGRESS']

function countOf(host: Host, states: readonly UrlState[]): number {
  return states.reduce((sum, state) => sum + (host.by_status[state] ?? 0), 0)
}

export function HostsTab({ summary }: { summary: Summary }) {
  const hosts = useQuery(queries.hosts(summary.id))
  if (hosts.isPending) return <Loading />
  if (hosts.isLoadingError) return <Failure error={hosts.error} retry={() => void hosts.refetch()} />
  if (hosts.data.hosts.length === 0) return <Empty title={texts.hosts.empty} />
  return (
    <LocalTable
      label={texts.hosts.label}
      name="hosts"
      columns={hostColumns(isActive(summary.status))}
      rows={hosts.data.hosts}
      keyOf={(host) => host.host}
      minWidth="62rem"
    />
  )
}

function hostColumns(isRunning: boolean): LocalColumn<Host>[] {
  const words = texts.hosts
  const number = (id: string, label: string, value: (host: Host) => number): LocalColumn<Host> => ({
    id,
    label,
    isNumber: true,
    width: '7rem',
    value,
    cell: (host) => value(host).toLocaleString(),
  })
  return [
    { id: 'host', label: words.host, isHeader: true, value: (host) => host.host, cell: (host) => host.host },
    number('urls', words.urls, (host) => host.urls),
    number('read', words.read, (host) => countOf(host, READ)),
    number('waiting', words.waiting, (host) => countOf(host, WAITING)),
    number('failed', words.failed, (host) => countOf(host, ERROR_STATES)),
    {
      id: 'elapsed_ms',
      label: words.elapsed,
      isNumber: true,
      width: '12rem',
      value: (host) => host.elapsed_ms,
      cell: (host) => (host.elapsed_ms === null ? texts.none : duration(host.elapsed_ms)),
    },
    {
      id: 'now',
      label: words.now,
      width: '16rem',
      value: (host) => (isRunning ? (host.is_closed === null ? words.unknown : host.is_closed ? words.closed : words.open) : words.ended),
      facet: (word) => word,
      cell: (host) => <Now host={host} isRunning={isRunning} />,
    },
  ]
}

function Now({ host, isRunning }: { host: Host; isRunning: boolean }) {
  const words = texts.hosts
  if (!isRunning) return words.ended
  return (
    <>
      {host.is_closed === null ? words.unknown : host.is_closed ? <WarningLabel word={words.closed} /> : words.open}
      {host.retry_at && (
        <>
          , {words.retry} <Time value={host.retry_at} />
        </>
      )}
    </>
  )
}

export function EventsTab({ summary }: { summary: Summary }) {
  const [most, setMost] = useState(queries.EVENTS_PER_PART)
  const events = useQuery(queries.events(summary.id, most))
  if (events.isPending) return <Loading />
  if (events.isLoadingError) return <Failure error={events.error} retry={() => void events.refetch()} />
  if (events.data.events.length === 0) return <Empty title={texts.events.empty} />
  const words = texts.events
  return (
    <Stack gap="sm">
      <LocalTable
        label={words.label}
        name="events"
        columns={eventColumns(summary.id)}
        rows={events.data.events}
        keyOf={(event) => String(event.id)}
        minWidth="44rem"
      />
      {events.data.has_more && (
        <Group justify="center" gap="sm">
          <Text size="sm" c="dimmed">
            {words.partly(events.data.events.length)}
          </Text>
          <Button size="xs" variant="default" loading={events.isFetching} onClick={() => setMost(5 * most)}>
            {words.more}
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function eventColumns(run: string): LocalColumn<Event>[] {
  const words = texts.events
  const kind = (name: string) => words.kinds[name] ?? name
  return [
    { id: 'at', label: words.at, width: '12rem', value: (event) => event.at, cell: (event) => <Time value={event.at} /> },
    { id: 'kind', label: words.kind, width: '12rem', value: (event) => event.kind, facet: kind, cell: (event) => kind(event.kind) },
    {
      id: 'url',
      label: words.about,
      value: (event) => event.url ?? facts(event),
      cell: (event) => (
        <>
          {event.url && <UrlLink run={run} url={event.url} />}{' '}
          <Text span inherit c="dimmed">
            {facts(event)}
          </Text>
        </>
      ),
    },
  ]
}

function facts(event: Event): string {
  return Object.entries(event.facts)
    .map(([name, value]) => (name === 'state' ? (texts.runState[value as Summary['status']] ?? value) : `${name.replaceAll('_', ' ')}: ${value}`))
    .join(', ')
}
