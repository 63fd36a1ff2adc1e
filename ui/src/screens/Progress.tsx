/** What a run does now: its hosts, and the events that it reported. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Hosts, Summary, UrlState } from '../api/client'
import { isActive } from '../api/follow'
import * as queries from '../api/queries'
import { Empty, Failure, Loading } from '../parts/frames'
import { ERROR_STATES, WarningLabel } from '../parts/states'
import { duration, Time } from '../parts/values'
import { texts } from '../texts'
import { UrlLink } from './Node'

type Host = Hosts['hosts'][number]

const READ: readonly UrlState[] = ['VISITED', 'NOT_MODIFIED']
const WAITING: readonly UrlState[] = ['DISCOVERED', 'QUEUED', 'IN_PROGRESS']

function countOf(host: Host, states: readonly UrlState[]): string {
  return states.reduce((sum, state) => sum + (host.by_status[state] ?? 0), 0).toLocaleString()
}

export function HostsTab({ summary }: { summary: Summary }) {
  const hosts = useQuery(queries.hosts(summary.id))
  if (hosts.isPending) return <Loading />
  if (hosts.error) return <Failure error={hosts.error} retry={() => void hosts.refetch()} />
  if (hosts.data.hosts.length === 0) return <Empty title={texts.hosts.empty} />
  const words = texts.hosts
  return (
    <div className="table-frame" role="region" aria-label={words.label} tabIndex={0}>
      <table className="small-rows">
        <thead>
          <tr>
            <th scope="col">{words.host}</th>
            {[words.urls, words.read, words.waiting, words.failed, words.elapsed].map((heading) => (
              <th key={heading} scope="col" className="number">
                {heading}
              </th>
            ))}
            <th scope="col">{words.now}</th>
          </tr>
        </thead>
        <tbody>
          {hosts.data.hosts.map((host) => (
            <tr key={host.host}>
              <th scope="row">{host.host}</th>
              <td className="number">{host.urls.toLocaleString()}</td>
              <td className="number">{countOf(host, READ)}</td>
              <td className="number">{countOf(host, WAITING)}</td>
              <td className="number">{countOf(host, ERROR_STATES)}</td>
              <td className="number">{host.elapsed_ms === null ? texts.none : duration(host.elapsed_ms)}</td>
              <td>
                <Now host={host} isRunning={isActive(summary.status)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
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
  const [after, setAfter] = useState(0)
  const events = useQuery(queries.events(summary.id, after))
  if (events.isPending) return <Loading />
  if (events.error) return <Failure error={events.error} retry={() => void events.refetch()} />
  const listed = events.data.events
  if (listed.length === 0 && after === 0) return <Empty title={texts.events.empty} />
  const words = texts.events
  return (
    <Stack gap="sm">
      <div className="table-frame" role="region" aria-label={words.label} tabIndex={0} style={{ maxHeight: '75vh', overflowY: 'auto' }}>
        <table className="small-rows">
          <thead>
            <tr>
              {[words.at, words.kind, words.about].map((heading) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {listed.map((event) => (
              <tr key={event.id}>
                <td style={{ whiteSpace: 'nowrap' }}>
                  <Time value={event.at} />
                </td>
                <td>{words.kinds[event.kind] ?? event.kind}</td>
                <td>
                  {event.url && <UrlLink run={summary.id} url={event.url} />}{' '}
                  <Text span inherit c="dimmed">
                    {Object.entries(event.facts)
                      .map(([name, value]) => `${name}: ${value}`)
                      .join(', ')}
                  </Text>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(after > 0 || events.data.has_more) && (
        <Group justify="center">
          <Button variant="default" disabled={after === 0} onClick={() => setAfter(0)}>
            {words.first}
          </Button>
          <Button variant="default" disabled={!events.data.has_more} onClick={() => setAfter(listed.at(-1)?.id ?? 0)}>
            {words.more}
          </Button>
        </Group>
      )}
    </Stack>
  )
}
