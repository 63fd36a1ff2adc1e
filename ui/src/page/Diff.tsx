/** What changed in a page, version by version. */
import { Button, Group, Stack, Switch, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Fragment } from 'react'
import type { DiffLine } from '../api/client'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { Time } from '../parts/values'
import { texts } from '../texts'

const CONTEXT_LINES = 2

export function PageDiff({ run, url }: { run: string; url: string }) {
  const [parameters, change] = useAddressState()
  const [onlyChanges, setOnlyChanges] = useLocalStorage({ key: 'sitelore-diff-only-changes', defaultValue: true, getInitialValueInEffect: false })
  const versions = useQuery(queries.versions(run, url))
  const total = versions.data?.versions.length ?? 0
  const version = Math.min(total, Math.max(1, Number(parameters.get('version')) || total))
  const diff = useQuery({ ...queries.diff(run, url, version), enabled: total > 0 })
  if (versions.isPending || (total > 0 && diff.isPending)) return <Loading />
  const error = versions.error ?? diff.error
  if (error && !diff.data) return <Failure error={error} retry={() => void versions.refetch()} />
  if (!diff.data || total < 2) return <Empty title={texts.detail.diffNone} />
  const { after, before, lines } = diff.data
  const go = (number: number) => change({ version: number === total ? '' : String(number) })
  return (
    <Stack gap="sm">
      <Group className="diff-bar" gap="sm" justify="space-between">
        <div>
          <Text fw={600}>{texts.detail.version(version, total)}</Text>
          <Text size="sm" c="dimmed">
            {before && (
              <>
                <Time value={before.seen_at} /> →{' '}
              </>
            )}
            <Time value={after.seen_at} />
          </Text>
        </div>
        <Group gap="sm">
          <Switch label={texts.detail.changesOnly} checked={onlyChanges} onChange={(event) => setOnlyChanges(event.currentTarget.checked)} />
          <Button size="xs" variant="default" disabled={version <= 1} onClick={() => go(version - 1)}>
            {texts.detail.older}
          </Button>
          <Button size="xs" variant="default" disabled={version >= total} onClick={() => go(version + 1)}>
            {texts.detail.newer}
          </Button>
        </Group>
      </Group>
      {before === null ? <Text c="dimmed">{texts.detail.diffFirst}</Text> : <Lines lines={lines} onlyChanges={onlyChanges} />}
    </Stack>
  )
}

/** Groups of lines: those to show, and numbers of unchanged ones between them. */
function folded(lines: readonly DiffLine[], onlyChanges: boolean): (DiffLine | number)[] {
  if (!onlyChanges) return [...lines]
  const near = new Set<number>()
  lines.forEach((line, index) => {
    if (line.kind !== 'same') for (let at = index - CONTEXT_LINES; at <= index + CONTEXT_LINES; at += 1) near.add(at)
  })
  const result: (DiffLine | number)[] = []
  lines.forEach((line, index) => {
    const last = result.at(-1)
    if (near.has(index)) result.push(line)
    else if (typeof last === 'number') result[result.length - 1] = last + 1
    else result.push(1)
  })
  return result
}

function Lines({ lines, onlyChanges }: { lines: readonly DiffLine[]; onlyChanges: boolean }) {
  if (lines.every((line) => line.kind === 'same')) return <Empty title={texts.detail.noChange} />
  return (
    <div className="diff" role="region" aria-label={texts.detail.diffLabel} tabIndex={0}>
      {folded(lines, onlyChanges).map((line, index) =>
        typeof line === 'number' ? (
          <div key={index} className="diff-gap">
            {texts.detail.same(line)}
          </div>
        ) : (
          <div key={index} className={`diff-line diff-${line.kind}`}>
            {line.spans.map((span, at) => (
              <Fragment key={at}>{span.kind === 'removed' ? <del>{span.text}</del> : span.kind === 'added' ? <ins>{span.text}</ins> : span.text}</Fragment>
            ))}
          </div>
        ),
      )}
    </div>
  )
}
