/** Loading, empty and error states, and the frame of a screen. */
import { Alert, Button, Center, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { Component, type ReactNode } from 'react'
import { ApiError } from '../api/client'
import { texts } from '../texts'
import { Warning } from './icons'

export function Screen({ title, heading, actions, children }: { title: string; heading?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  useDocumentTitle(`${title} · ${texts.product}`)
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ minWidth: 0, flex: '1 1 16rem' }}>{heading ?? <Title order={1} size="h2">{title}</Title>}</div>
        {actions}
      </Group>
      {children}
    </Stack>
  )
}

export function Section({ title, children, actions }: { title: string; children: ReactNode; actions?: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5">
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Paper>
  )
}

export function Loading({ height = '12rem' }: { height?: string }) {
  return (
    <Center mih={height} role="status" aria-label={texts.loading}>
      <Loader size="sm" aria-hidden />
    </Center>
  )
}

export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ReactNode }) {
  return (
    <Center mih="10rem" p="md">
      <Stack gap="xs" align="center" ta="center" maw="32rem">
        <Text fw={600}>{title}</Text>
        {hint && <Text c="dimmed">{hint}</Text>}
        {children}
      </Stack>
    </Center>
  )
}

export function message(error: unknown): string {
  if (error instanceof ApiError) return error.status === 0 ? texts.problems.offline : error.message
  return String(error)
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <Alert color="red" variant="outline" icon={<Warning size={18} />} title={texts.problems.title} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text>{message(error)}</Text>
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            {texts.problems.retry}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

/** Shows a fault of the dashboard itself instead of an empty page. */
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Empty title={texts.problems.crashed} hint={String(this.state.error)}>
        <Button onClick={() => location.reload()}>{texts.problems.reload}</Button>
      </Empty>
    )
  }
}

export function Figure({ label, value, hint }: { label: string; value: ReactNode; hint?: string }) {
  return (
    <Paper withBorder p="sm">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fw={650} lh={1.25} className="figure-value">
        {value}
      </Text>
      {hint && (
        <Text size="xs" c="dimmed">
          {hint}
        </Text>
      )}
    </Paper>
  )
}

export function Facts({ items }: { items: readonly (readonly [string, ReactNode] | null | false)[] }) {
  return (
    <dl className="facts">
      {items.map(
        (item) =>
          item && (
            <div key={item[0]} style={{ display: 'contents' }}>
              <dt>{item[0]}</dt>
              <dd>{item[1]}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
