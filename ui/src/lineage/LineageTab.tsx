/** How the URLs of a run were found: the tree first, the graph on demand. Both grow while the run goes on. */
import { Button, Group, NativeSelect, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, useState, type KeyboardEvent } from 'react'
import type { LineageColumns } from '../api/client'
import * as queries from '../api/queries'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { Search } from '../parts/icons'
import { texts } from '../texts'
import { ancestors, lineage, matches, type Lineage } from './tree'
import { TreeView } from './TreeView'

const Graph = lazy(() => import('./Graph'))
const Legend = lazy(() => import('./Legend'))

const LIMIT = 50_000
const NOTHING: LineageColumns = { urls: [], parents: [], states: [], depths: [], types: [], x: [], y: [], state_names: [], type_names: [], truncated: false }
const COLOURS = ['state', 'depth', 'kind'] as const
const INTERVALS = [1, 2, 3, 5, 10]
const DEFAULT_INTERVAL = 3
/** Up to this size a tree begins with its first levels open. */
const SMALL = 40

interface LineageTabProps {
  run: string
  inspect: (url: string) => void
  isLive: boolean
}

export function LineageTab({ run, inspect, isLive }: LineageTabProps) {
  const [parameters, change] = useAddressState()
  const interval = INTERVALS.find((each) => each === Number(parameters.get('every'))) ?? DEFAULT_INTERVAL
  const columns = useQuery(queries.lineage(run, LIMIT, isLive ? interval * 1000 : false))
  const tree = useMemo(() => lineage(columns.data ?? NOTHING), [columns.data])
  const [opened, setOpened] = useState<ReadonlySet<string> | null>(null)
  const [text, setText] = useState('')
  const [position, setPosition] = useState(0)
  const isGraph = parameters.get('view') === 'graph'
  const colourBy = COLOURS.find((each) => each === parameters.get('colour')) ?? 'state'
  const hits = useMemo(() => matches(tree, text), [tree, text])
  const match = hits[position % Math.max(1, hits.length)]
  const above = useMemo(() => (match === undefined ? [] : ancestors(tree, match)), [tree, match])

  if (columns.isPending) return <Loading />
  if (columns.isLoadingError) return <Failure error={columns.error} retry={() => void columns.refetch()} />
  if (tree.nodes.length === 0) return <Empty title={texts.lineage.empty} />

  const expanded = new Set([...(opened ?? initiallyOpen(tree)), ...above])
  function find(event: KeyboardEvent) {
    if (event.key === 'Enter') {
      event.preventDefault()
      setPosition((before) => before + (event.shiftKey ? hits.length - 1 : 1))
    }
  }
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <SegmentedControl
          aria-label={texts.lineage.view}
          value={isGraph ? 'graph' : 'tree'}
          onChange={(view) => change({ view: view === 'graph' ? 'graph' : '' })}
          data={[
            { value: 'tree', label: texts.lineage.tree },
            { value: 'graph', label: texts.lineage.graph },
          ]}
        />
        <TextInput
          type="search"
          aria-label={texts.lineage.search}
          placeholder={texts.lineage.search}
          leftSection={<Search />}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setPosition(0)
          }}
          onKeyDown={find}
          style={{ flex: '0 1 18rem' }}
        />
        {text.trim() !== '' && (
          <Group gap="xs">
            <Text size="sm" c="dimmed" role="status">
              {hits.length === 0 ? texts.lineage.searchNone : texts.lineage.searchCount((position % hits.length) + 1, hits.length)}
            </Text>
            {hits.length > 1 && (
              <Button size="compact-sm" variant="default" onClick={() => setPosition((before) => before + 1)}>
                {texts.lineage.nextMatch}
              </Button>
            )}
          </Group>
        )}
        {!isGraph && (
          <Group gap="xs">
            <Button variant="default" size="xs" onClick={() => setOpened(everything(tree))}>
              {texts.lineage.expandAll}
            </Button>
            <Button variant="default" size="xs" onClick={() => setOpened(new Set())}>
              {texts.lineage.collapseAll}
            </Button>
          </Group>
        )}
        {isGraph && (
          <NativeSelect
            aria-label={texts.lineage.colour}
            value={colourBy}
            onChange={(event) => change({ colour: event.currentTarget.value === 'state' ? '' : event.currentTarget.value })}
            data={COLOURS.map((value) => ({ value, label: `${texts.lineage.colour}: ${texts.lineage.colours[value]}` }))}
          />
        )}
        {isLive && (
          <NativeSelect
            aria-label={texts.lineage.refresh}
            value={String(interval)}
            onChange={(event) => change({ every: event.currentTarget.value })}
            data={INTERVALS.map((each) => ({ value: String(each), label: `${texts.lineage.refresh} ${texts.lineage.seconds(each)}` }))}
          />
        )}
      </Group>
      {columns.data.truncated && <Text c="dimmed">{texts.lineage.truncated(LIMIT)}</Text>}
      {!isGraph && <TreeView tree={tree} expanded={expanded} setExpanded={setOpened} match={match} inspect={inspect} />}
      {isGraph && !canDraw() && <Empty title={texts.lineage.noWebGl} />}
      {isGraph && canDraw() && (
        <Suspense fallback={<Loading height="20rem" />}>
          <Graph tree={tree} colourBy={colourBy} match={match} inspect={inspect} />
          <Legend tree={tree} colourBy={colourBy} />
        </Suspense>
      )}
    </Stack>
  )
}

function initiallyOpen(tree: Lineage): ReadonlySet<string> {
  return tree.nodes.length <= SMALL ? everything(tree) : new Set(tree.roots.slice(0, 1).map((root) => root.url))
}

function everything(tree: Lineage): ReadonlySet<string> {
  return new Set(tree.nodes.filter((node) => node.children.length > 0).map((node) => node.url))
}

let drawable: boolean | undefined

function canDraw(): boolean {
  drawable ??= document.createElement('canvas').getContext('webgl2') !== null
  return drawable
}
