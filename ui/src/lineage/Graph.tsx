/** The lineage as a graph on a canvas. A chunk of its own, loaded when somebody opens it. */
import { ActionIcon, Group, useComputedColorScheme } from '@mantine/core'
import { DirectedGraph } from 'graphology'
import { useEffect, useMemo, useRef, useState, type RefObject } from 'react'
import Sigma from 'sigma'
import { EdgeLineProgram, NodePointProgram } from 'sigma/rendering'
import { Dash, Plus } from '../parts/icons'
import { urlTone, type Tone } from '../parts/states'
import { shownPath } from '../parts/values'
import { texts } from '../texts'
import type { Kind, Lineage, TreeNode } from './tree'

export type ColourBy = 'state' | 'depth' | 'kind'

const TONES: Record<'light' | 'dark', Record<Tone, string>> = {
  light: { good: '#2f9e66', busy: '#2f7fd6', warn: '#c98500', bad: '#d6352c', plain: '#8a939b', other: '#8b5fbf' },
  dark: { good: '#4cc38a', busy: '#6cb0ff', warn: '#f0b440', bad: '#ff7b72', plain: '#7d868e', other: '#c39bea' },
}
const DEPTHS = ['#155a3e', '#2b7fb8', '#7a5bc7', '#c2477f', '#d9782d', '#8a8f1f', '#5b6770']
const ANIMATION_MS = 300
/** Below this size every node is large enough for its label. */
const SMALL = 60
const MEDIUM = 250
/** How far beside a node the pointer may be. */
const REACH_PX = 3
/** A graph of many nodes is filled in tasks of this length. */
const SLICE_MS = 30
/** So many nodes are drawn before the others are added. */
const FIRST_NODES = 5000
/** From this size nodes are drawn as points and edges as lines. */
const LARGE = 1000

function depthColour(depth: number): string {
  return DEPTHS[Math.min(depth, DEPTHS.length - 1)] as string
}

const KIND_TONES: Record<Kind, Tone> = { page: 'good', document: 'other', image: 'busy', feed: 'warn', other: 'bad', none: 'plain' }

/** The colour of a node, by one of its properties. */
export function nodeColour(node: TreeNode, by: ColourBy, scheme: 'light' | 'dark'): string {
  if (by === 'depth') return depthColour(node.depth)
  if (by === 'kind') return stateColour(KIND_TONES[node.kind], scheme)
  return stateColour(node.state === null ? 'plain' : urlTone(node.state), scheme)
}

function stateColour(tone: Tone, scheme: 'light' | 'dark'): string {
  return TONES[scheme][tone]
}

/** While it is held, changes of the graph are not drawn. */
class HoldableSigma extends Sigma {
  isHeld = false

  override scheduleRender(): this {
    return this.isHeld ? this : super.scheduleRender()
  }
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
  const marker = useRef<HTMLDivElement>(null)
  const sigma = useRef<HoldableSigma | null>(null)
  const hovered = useRef<string | undefined>(undefined)
  const graph = useMemo(() => new DirectedGraph(), [])
  const latest = useRef({ inspect, match })
  latest.current = { inspect, match }
  const calm = useMemo(() => matchMedia('(prefers-reduced-motion: reduce)').matches, [])
  const isLarge = tree.nodes.length >= LARGE
  const [isFilled, setFilled] = useState(false)

  useEffect(() => {
    const filling = new AbortController()
    void fill(graph, tree, (node) => nodeColour(node, colourBy, scheme), sigma, () => setFilled(true), filling.signal)
    return () => filling.abort()
  }, [graph, tree, colourBy, scheme])

  useEffect(() => {
    if (!isFilled) return
    const drawn = new HoldableSigma(graph, frame.current as HTMLDivElement, {
      labelColor: { color: scheme === 'dark' ? '#e6e9eb' : '#1b1f22' },
      labelSize: 12,
      labelDensity: 0.6,
      labelRenderedSizeThreshold: 7,
      defaultEdgeColor: scheme === 'dark' ? '#4b545b' : '#c6cdd1',
      // Points and lines of one pixel touch a tenth of the pixels of discs and rectangles.
      ...(isLarge ? { nodeProgramClasses: { circle: NodePointProgram }, edgeProgramClasses: { line: EdgeLineProgram } } : {}),
      hideEdgesOnMove: true,
      hideLabelsOnMove: isLarge,
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
    })
    const layers = drawn.getCanvases()
    for (const unused of ['edgeLabels', 'hovers', 'hoverNodes']) layers[unused]?.style.setProperty('display', 'none')
    // What is not drawn on a moving graph is hidden: without a graphics card, putting a layer on the screen takes longer than drawing on it.
    const hideStill = () => {
      const { isMoving, draggedEvents, currentWheelDirection } = drawn.getMouseCaptor()
      const moves = drawn.getCamera().isAnimated() || isMoving || draggedEvents > 0 || currentWheelDirection !== 0
      for (const still of ['edges', 'labels']) layers[still]?.style.setProperty('display', moves && isLarge ? 'none' : '')
    }
    drawn.on('beforeRender', hideStill)
    const mark = () => place(drawn, marker.current, hovered.current ?? latest.current.match)
    const mouse = drawn.getMouseCaptor()
    // The library finds the node under the pointer by reading pixels back, which waits for the whole frame at every movement.
    mouse.removeAllListeners()
    mouse.on('mousemove', (at) => {
      if (mouse.isMoving) return
      hovered.current = nodeAt(drawn, at)
      ;(frame.current as HTMLDivElement).style.setProperty('cursor', hovered.current === undefined ? 'default' : 'pointer')
      mark()
    })
    mouse.on('mouseleave', () => {
      hovered.current = undefined
      mark()
    })
    mouse.on('click', (at) => {
      const node = nodeAt(drawn, at)
      if (node !== undefined) latest.current.inspect(node)
    })
    drawn.on('clickNode', ({ node }) => latest.current.inspect(node)) // by touch
    drawn.on('afterRender', mark)
    sigma.current = drawn
    // For the tests, which measure frames and find nodes on the canvas.
    Object.assign(frame.current as HTMLDivElement, { sigma: drawn })
    return () => {
      drawn.kill()
      sigma.current = null
    }
  }, [graph, scheme, isLarge, isFilled])

  useEffect(() => {
    const drawn = sigma.current
    if (!drawn) return
    const at = match === undefined ? undefined : drawn.getNodeDisplayData(match)
    if (at) void drawn.getCamera().animate({ x: at.x, y: at.y, ratio: 0.3 }, { duration: calm ? 0 : ANIMATION_MS })
    place(drawn, marker.current, match)
  }, [match, calm, scheme, isFilled])

  const move = (how: 'animatedZoom' | 'animatedUnzoom' | 'animatedReset') => () =>
    void sigma.current?.getCamera()[how]({ duration: calm ? 0 : ANIMATION_MS })
  return (
    <div className="graph-frame" role="group" aria-label={texts.lineage.graphLabel(tree.nodes.length)}>
      <div ref={frame} className="graph-canvas" aria-hidden="true" data-testid="graph" />
      <div ref={marker} className="graph-marker" aria-hidden="true" hidden>
        <i />
        <span />
      </div>
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

/** The node at a place of the canvas, or close to it. */
function nodeAt(drawn: Sigma, place: { x: number; y: number }): string | undefined {
  const at = drawn.viewportToGraph(place)
  const beside = drawn.viewportToGraph({ x: place.x + 1, y: place.y })
  const pixel = Math.hypot(beside.x - at.x, beside.y - at.y)
  let found: string | undefined
  let nearest = 1
  drawn.getGraph().forEachNode((node, { x, y, size }) => {
    const distance = Math.hypot(x - at.x, y - at.y) / (pixel * (drawn.scaleSize(size) + REACH_PX))
    if (distance < nearest) [nearest, found] = [distance, node]
  })
  return found
}

/** Puts the ring and the label on a node; without one, they are hidden. */
function place(drawn: Sigma, marker: HTMLDivElement | null, node: string | undefined) {
  const data = node === undefined ? undefined : drawn.getNodeDisplayData(node)
  if (!marker) return
  marker.hidden = data === undefined
  if (data === undefined || node === undefined) return
  const at = drawn.framedGraphToViewport(data)
  const radius = drawn.scaleSize(data.size) + 4
  const [ring, label] = marker.children as unknown as [HTMLElement, HTMLElement]
  marker.style.transform = `translate(${at.x}px, ${at.y}px)`
  Object.assign(ring.style, { width: `${2 * radius}px`, height: `${2 * radius}px`, borderColor: data.color })
  label.style.left = `${radius + 4}px`
  label.textContent = shownPath(node)
}

/** Bring the graph to the state of the tree: all nodes get their places and colours, new ones are added in slices. `draw` shows it. */
async function fill(
  graph: DirectedGraph,
  tree: Lineage,
  colour: (node: TreeNode) => string,
  sigma: RefObject<HoldableSigma | null>,
  draw: () => void,
  signal: AbortSignal,
): Promise<void> {
  const count = tree.nodes.length
  const [base, growth] = count < SMALL ? [7, 1.6] : count < MEDIUM ? [4.5, 1.5] : count < LARGE ? [3, 1.2] : [1.5, 0.5]
  const attributes = (node: TreeNode) => {
    const size = Math.min(14, base + growth * Math.log2(1 + node.children.length))
    return { x: node.x, y: node.y, label: shownPath(node.url), color: colour(node), size, parent: node.parent?.url }
  }
  const link = (node: TreeNode) => node.parent !== null && graph.addEdge(node.parent.url, node.url, { size: 0.7 })
  for (const url of graph.nodes()) if (!tree.byUrl.has(url)) graph.dropNode(url)
  // One event for all nodes, so that they are drawn once.
  const moved: TreeNode[] = []
  if (graph.order > 0)
    graph.updateEachNodeAttributes((url, before) => {
      const node = tree.byUrl.get(url) as TreeNode
      const after = attributes(node)
      if (before.parent !== after.parent) moved.push(node)
      return after
    })
  const added = tree.nodes.filter(({ url }) => !graph.hasNode(url))
  let until = performance.now() + SLICE_MS
  const hold = (isHeld: boolean) => sigma.current && (sigma.current.isHeld = isHeld)
  try {
    for (const [index, node] of added.entries()) {
      hold(added.length > FIRST_NODES)
      graph.addNode(node.url, attributes(node))
      link(node)
      if (index === FIRST_NODES) draw()
      if (index === FIRST_NODES || performance.now() > until) {
        await new Promise(requestAnimationFrame)
        if (signal.aborted) return
        until = performance.now() + SLICE_MS
      }
    }
    for (const node of moved) {
      for (const edge of graph.inEdges(node.url)) graph.dropEdge(edge)
      link(node)
    }
  } finally {
    hold(false)
  }
  draw()
  sigma.current?.scheduleRender()
}
