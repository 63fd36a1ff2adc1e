/** Follows a run: server-sent events, and polling where these do not arrive. */
import { useQueryClient, type QueryKey } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { get, runPath, type RunState, type Summary } from './client'

const POLL_MS = 2000
const REFRESH_MS = 2000
const SAMPLES = 120

export interface Sample {
  at: number
  pages: number
}

export type Connection = 'off' | 'events' | 'polling' | 'lost'

export function isActive(state: RunState): boolean {
  return state === 'QUEUED' || state === 'RUNNING'
}

/**
 * Keeps the summary of the run in the query cache current, and refreshes its lists, until the run ends or `paused`.
 * Queries below the key `alsoRefresh` are refreshed with the lists.
 */
export function useFollow(run: string, active: boolean, paused: boolean, alsoRefresh?: QueryKey): { connection: Connection; samples: Sample[] } {
  const client = useQueryClient()
  const [connection, setConnection] = useState<Connection>('off')
  const samples = useRef<Sample[]>([])
  const refreshed = useRef(alsoRefresh)
  refreshed.current = alsoRefresh

  useEffect(() => {
    if (!active || paused) {
      setConnection('off')
      return
    }
    let poll: ReturnType<typeof setInterval> | undefined
    let refreshedAt = 0
    const source = new EventSource(`${runPath(run)}/events`)

    function show(summary: Summary) {
      samples.current = [...samples.current, { at: Date.now(), pages: summary.counts.pages }].slice(-SAMPLES)
      client.setQueryData(['summary', run], summary)
      const over = !isActive(summary.status)
      if (over || Date.now() - refreshedAt > REFRESH_MS) {
        refreshedAt = Date.now()
        void client.invalidateQueries({ queryKey: ['lists', run] })
        if (refreshed.current) void client.invalidateQueries({ queryKey: refreshed.current })
      }
      if (over) {
        stop()
        void client.invalidateQueries({ queryKey: ['runs'] })
      }
    }
    function receive(event: MessageEvent<string>) {
      clearInterval(poll)
      poll = undefined
      setConnection('events')
      show(JSON.parse(event.data) as Summary)
    }
    function fall() {
      // EventSource connects again by itself; until it does, poll.
      if (poll !== undefined) return
      setConnection('polling')
      poll = setInterval(
        () =>
          void get<Summary>(`${runPath(run)}/summary`).then(
            (summary) => {
              if (poll !== undefined) setConnection('polling')
              show(summary)
            },
            () => setConnection('lost'),
          ),
        POLL_MS,
      )
    }
    function stop() {
      source.close()
      clearInterval(poll)
      setConnection('off')
    }
    source.addEventListener('progress', receive)
    source.addEventListener('end', receive)
    source.addEventListener('error', fall)
    return stop
  }, [client, run, active, paused])

  return { connection, samples: samples.current }
}
