/** The progress of a crawl while it is followed, with a button that pauses updates. */
import { Button, Group, Text, VisuallyHidden } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { Connection } from '../api/follow'
import { texts } from '../texts'
import { Pause, Play } from './icons'

interface LiveBarProps {
  text: string
  connection: Connection
  isPaused: boolean
  setPaused: (paused: boolean) => void
}

const ANNOUNCE_MS = 5000

export function LiveBar({ text, connection, isPaused, setPaused }: LiveBarProps) {
  return (
    <Group gap="sm" justify="space-between">
      <Group gap="xs">
        <Text fw={600} style={{ fontVariantNumeric: 'tabular-nums' }}>
          {text}
        </Text>
        <Text size="sm" c="dimmed">
          {isPaused ? texts.run.paused : connection === 'lost' ? texts.run.lost : connection === 'polling' ? texts.run.polling : texts.run.live}
        </Text>
      </Group>
      <Button variant="default" size="xs" leftSection={isPaused ? <Play /> : <Pause />} onClick={() => setPaused(!isPaused)}>
        {isPaused ? texts.run.resumeLive : texts.run.pause}
      </Button>
      <VisuallyHidden role="status">{useRarely(text, ANNOUNCE_MS)}</VisuallyHidden>
    </Group>
  )
}

/** A text that changes at most once in this time, for screen readers. */
function useRarely(text: string, interval: number): string {
  const [shown, setShown] = useState(text)
  const latest = useRef(text)
  latest.current = text
  useEffect(() => {
    const timer = setInterval(() => setShown(latest.current), interval)
    return () => clearInterval(timer)
  }, [interval])
  return shown
}
