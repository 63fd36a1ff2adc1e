/** Loading, empty and error states, and the frame of a screen. */
import { Alert, Button, Center, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { Component, type ReactNode } from 'react'
import { Link } from 'wouter'
import { ApiError } from '../api/client'
import { texts } from '../texts'
import { Nothing, Warning } from './icons'

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
    <Center mih="12rem" p="md">
      <Stack gap="xs" align="center" ta="center" maw="32rem">
        <span className="empty-icon">
          <Nothing size={22} />
        </span>
        <Text fw={600}>{title}</Text>
        {hint && <Text c="dimmed">{hint}</Text>}
        {children}
      </Stack>
    </Center>
  )
}

/** A screen about something that does not exist, with the way to what does. */
export function Missing({ title, hint, href, label }: { title: string; hint?: string; href: string; label: string }) {
  useDocumentTitle(`${title} · ${texts.product}`)
  return (
    <Center mih="60vh" p="md">
      <Stack gap="sm" align="center" ta="center" maw="32rem">
        <span className="empty-icon">
          <Nothing size={22} />
        </span>
        <Title order={1} size="h3">
          {title}
        </Title>
        {hint && <Text c="dimmed">{hint}</Text>}
        <Button component={Link} href={href} variant="default" mt="xs">
          {label}
        </Button>
      </Stack>
    </Center>
  )
}

/** What went wrong, in a few words. */
function summaryOf(error: unknown): string {
  const words = texts.problems
  if (!(error instanceof ApiError)) return words.title
  if (error.status === 0) return words.offlineTitle
  if (error.status >= 500) return words.server
  return { 401: words.signedOut, 403: words.forbidden, 404: words.missing, 429: words.tooMany }[error.status] ?? words.title
}

/** Why something went wrong, in the words of the server where it gave any. */
export function message(error: unknown): string {
  const words = texts.problems
  if (!(error instanceof ApiError)) return words.unexpected
  if (error.status === 0) return words.offline
  if (error.problem) return error.message
  if (error.status >= 500) return words.serverHint
  return { 401: words.signedOutHint, 403: words.forbiddenHint, 429: words.tooManyHint }[error.status] ?? words.unexpected
}

function sentence(text: string): string {
  const started = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?…]$/.test(started) ? started : `${started}.`
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <Alert color="red" variant="outline" icon={<Warning size={18} />} title={summaryOf(error)} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text>{sentence(message(error))}</Text>
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            {texts.problems.retry}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

// What browsers say when a script of the dashboard cannot be loaded.
const NOT_LOADED = /dynamically imported module|Importing a module script failed/i

interface BoundaryProps {
  /** Another screen is tried again. */
  place?: string
  children: ReactNode
}

/** Shows a fault of the dashboard itself, or a part of it that could not be loaded, instead of an empty page. */
export class Boundary extends Component<BoundaryProps, { error: unknown }> {
  state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  componentDidUpdate(before: BoundaryProps) {
    if (before.place !== this.props.place && this.state.error !== undefined) this.setState({ error: undefined })
  }

  render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    const isNotLoaded = NOT_LOADED.test(String(error))
    return (
      <Empty title={isNotLoaded ? texts.problems.notLoaded : texts.problems.crashed} hint={isNotLoaded ? texts.problems.notLoadedHint : texts.problems.crashedHint}>
        <Button onClick={() => location.reload()}>{texts.problems.reload}</Button>
        {!isNotLoaded && (
          <details>
            <summary>{texts.problems.details}</summary>
            <code>{String(error)}</code>
          </details>
        )}
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
