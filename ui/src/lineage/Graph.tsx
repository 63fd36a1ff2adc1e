/** The lineage as a graph on a canvas. A chunk of its own, loaded when somebody opens it. */
import { ActionIcon, Group, useComputedColorScheme } from '@mantine/core'
import { DirectedGraph } from 'graphology'
import { useEffect, useMemo, useRef } from 'react'
import Sigma from 'sigma'
import { Dash, Plus } from '../parts/icons'
import { urlTone, type Tone } from '../parts/states'
import { shownPath } from '../parts/values'
import { texts } from '../texts'
import { radial, type Lineage, type TreeNode } from './tree'

export type ColourBy = 'state' | 'depth'

const TONES: Record<'light' | 'dark', Record<Tone, string>> = {
  light: { good: '#2f9e66', busy: '#2f7fd6', warn: '#c98500', bad: '#d6352c', plain: '#8a939b', other: '#8b5fbf' },
  dark: { good: '#4cc38a', busy: '#6cb0ff', warn: '#f0b440', bad: '#ff7b72', plain: '#7d868e', other: '#c39bea' },
}
const DEPTHS = ['#155a3e', '#2b7fb8', '#7a5bc7', '#c2477f', '#d9782d', '#8a8f1f', '#5b6770']
const ANIMATION_MS = 300
/** Below this size every node is large enough for its label. */
const SMALL = 60
/** From this size nodes are drawn as points. */
const LARGE = 1000

export function depthColour(depth: number): string {
  return DEPTHS[Math.min(depth, DEPTHS.length - 1)] as string
}

export function stateColour(tone: Tone, scheme: 'light' | 'dark'): string {
  return TONES[scheme][tone]
}

interface GraphProps {
  tree: Lineage
  colourBy: ColourBy
  match: string | undefined
  inspect: (url: string) => void
}

export default function Graph({ tree, colourBy, match, inspect }: GraphProps) {
  const scheme = useComputedColorScheme('light')
  const frame = useRef<HTMLDivElement>(null)
  const sigma = useRef<Sigma | null>(null)
  const graph = useMemo(() => new DirectedGraph(), [])
  const clicked = useRef(inspect)
  clicked.current = inspect
  const calm = useMemo(() => matchMedia('(prefers-reduced-motion: reduce)').matches, [])

  useEffect(() => {
    update(graph, tree, (node) => (colourBy === 'depth' ? depthColour(node.depth) : stateColour(node.state === null ? 'plain' : urlTone(node.state), scheme)))
    sigma.current?.refresh()
  }, [graph, tree, colourBy, scheme])

  useEffect(() => {
    const drawn = new Sigma(graph, frame.current as HTMLDivElement, {
      labelColor: { color: scheme === 'dark' ? '#e6e9eb' : '#1b1f22' },
      labelSize: 12,
      labelDensity: 0.6,
      labelRenderedSizeThreshold: 7,
      defaultEdgeColor: scheme === 'dark' ? '#4b545b' : '#c6cdd1',
      defaultDrawNodeHover: hover(scheme),
      hideEdgesOnMove: true,
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
      zIndex: true,
    })
    drawn.on('clickNode', ({ node }) => clicked.current(node))
    drawn.on('enterNode', () => (frame.current as HTMLDivElement).style.setProperty('cursor', 'pointer'))
    drawn.on('leaveNode', () => (frame.current as HTMLDivElement).style.setProperty('cursor', 'default'))
    sigma.current = drawn
    // For the tests, which measure frames and find nodes on the canvas.
    Object.assign(frame.current as HTMLDivElement, { sigma: drawn })
    return () => {
      drawn.kill()
      sigma.current = null
    }
  }, [graph, scheme])

  useEffect(() => {
    const drawn = sigma.current
    if (!drawn) return
    drawn.setSetting('nodeReducer', (node, data) => (node === match ? { ...data, highlighted: true, zIndex: 1 } : data))
    const place = match === undefined ? undefined : drawn.getNodeDisplayData(match)
    if (place) void drawn.getCamera().animate({ x: place.x, y: place.y, ratio: 0.3 }, { duration: calm ? 0 : ANIMATION_MS })
  }, [match, calm, scheme])

  const move = (how: 'animatedZoom' | 'animatedUnzoom' | 'animatedReset') => () =>
    void sigma.current?.getCamera()[how]({ duration: calm ? 0 : ANIMATION_MS })
  return (
    <div className="graph-frame" role="group" aria-label={texts.lineage.graphLabel(tree.byUrl.size)}>
      <div ref={frame} className="graph-canvas" aria-hidden="true" data-testid="graph" />
      <Group gap={4} style={{ position: 'absolute', right: 8, top: 8 }}>
        <ActionIcon variant="default" aria-label={texts.lineage.zoomIn} title={texts.lineage.zoomIn} onClick={move('animatedZoom')}>
          <Plus />
        </ActionIcon>
        <ActionIcon variant="default" aria-label={texts.lineage.zoomOut} title={texts.lineage.zoomOut} onClick={move('animatedUnzoom')}>
          <Dash />
        </ActionIcon>
        <ActionIcon variant="default" aria-label={texts.lineage.fit} title={texts.lineage.fit} onClick={move('animatedReset')}>
          ⤢
        </ActionIcon>
      </Group>
    </div>
  )
}

/** Bring the graph to the state of the tree: new nodes are added, all get their places and colours. */
function update(graph: DirectedGraph, tree: Lineage, colour: (node: TreeNode) => string): void {
  const places = radial(tree.roots)
  const [base, growth] = tree.byUrl.size < SMALL ? [7, 1.6] : tree.byUrl.size < LARGE ? [3, 1.2] : [1.5, 0.5]
  for (const url of graph.nodes()) if (!tree.byUrl.has(url)) graph.dropNode(url)
  for (const [url, node] of tree.byUrl) {
    const place = places.get(url) ?? { x: 0, y: 0 }
    graph.mergeNode(url, {
      ...place,
      label: shownPath(url),
      color: colour(node),
      size: Math.min(14, base + growth * Math.log2(1 + node.children.length)),
    })
  }
  for (const [url, parent] of tree.parentOf) if (!graph.hasEdge(parent, url)) graph.addEdge(parent, url, { size: tree.byUrl.size < LARGE ? 0.7 : 0.3 })
}

/** The label under the pointer, in the colours of the scheme. */
function hover(scheme: 'light' | 'dark') {
  return (context: CanvasRenderingContext2D, data: { x: number; y: number; size: number; label?: string | null; color: string }) => {
    context.font = '12px system-ui, sans-serif'
    const label = data.label ?? ''
    const width = context.measureText(label).width + 14
    context.fillStyle = scheme === 'dark' ? '#25292c' : '#ffffff'
    context.strokeStyle = data.color
    context.beginPath()
    context.roundRect(data.x + data.size + 2, data.y - 11, width, 22, 5)
    context.fill()
    context.stroke()
    context.beginPath()
    context.arc(data.x, data.y, data.size + 3, 0, 2 * Math.PI)
    context.stroke()
    context.fillStyle = scheme === 'dark' ? '#e6e9eb' : '#1b1f22'
    context.fillText(label, data.x + data.size + 9, data.y + 4)
  }
}
