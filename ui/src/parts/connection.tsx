/** A notice while what is shown cannot be refreshed, because the server does not answer or refuses. */
import { Alert, Button, Group, Text } from '@mantine/core'
import { useQueryClient, type Query } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { texts } from '../texts'
import { message } from './frames'
import { Warning } from './icons'

/** Shown data whose last refresh failed. What never arrived has an error of its own on the screen. */
function isStale(query: Query): boolean {
  return query.isActive() && query.state.status === 'error' && query.state.data !== undefined
}

export function ConnectionNotice() {
  const client = useQueryClient()
  const cache = client.getQueryCache()
  const error = useSyncExternalStore(
    (changed) => cache.subscribe(changed),
    () => cache.getAll().find(isStale)?.state.error ?? null,
  )
  if (error === null) return null
  return (
    <Alert color="yellow" variant="outline" icon={<Warning size={18} />} role="status" mb="md" className="connection-notice">
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          {message(error)} {texts.problems.stale}
        </Text>
        <Button size="xs" variant="default" onClick={() => void client.refetchQueries({ predicate: isStale })}>
          {texts.problems.retry}
        </Button>
      </Group>
    </Alert>
  )
}
