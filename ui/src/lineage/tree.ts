/** How the URLs of a run were found, as a tree: every URL is below the page on which it was found first. */
import type { Edge, UrlRow, UrlState } from '../api/client'

export const KINDS = ['page', 'document', 'image', 'feed', 'other', 'none'] as const
export type Kind = (typeof KINDS)[number]

/** The kind of a media type. */
function kindOf(mediaType: string): Kind {
  if (mediaType === '') return 'none'
  if (/^(text\/html|application\/xhtml\+xml)$/.test(mediaType)) return 'page'
  if (/^image\//.test(mediaType)) return 'image'
  if (/^application\/(rss|atom|feed)|xml$/.test(mediaType)) return 'feed'
  return /^application\/(pdf|rtf|msword|epub|vnd\.)/.test(mediaType) ? 'document' : 'other'
}

export interface TreeNode {
  url: string
  /** Null for a sitemap: it is no URL of the run. */
  state: UrlState | null
  /** Links from the seed, as the crawl counts them. */
  depth: number
  /** What the response was. */
  kind: Kind
  children: TreeNode[]
  /** Number of nodes below this one. */
  size: number
}

export interface Lineage {
  roots: TreeNode[]
  byUrl: Map<string, TreeNode>
  parentOf: Map<string, string>
}

export function lineage(edges: readonly Edge[], seeds: readonly UrlRow[]): Lineage {
  const byUrl = new Map<string, TreeNode>()
  const parentOf = new Map<string, string>()
  for (const seed of seeds) byUrl.set(seed.url, { url: seed.url, state: seed.status, depth: seed.depth, kind: kindOf(seed.content_type.split(';')[0] ?? ''), children: [], size: 0 })
  for (const edge of edges) byUrl.set(edge.id, { url: edge.id, state: edge.status, depth: edge.depth, kind: kindOf(edge.content_type), children: [], size: 0 })
  const roots: TreeNode[] = []
  for (const seed of seeds) roots.push(byUrl.get(seed.url) as TreeNode)
  for (const edge of edges) {
    let parent = byUrl.get(edge.discovered_from_url_id)
    if (parent === undefined) {
      parent = { url: edge.discovered_from_url_id, state: null, depth: 0, kind: 'feed', children: [], size: 0 }
      byUrl.set(parent.url, parent)
      roots.push(parent)
    }
    parent.children.push(byUrl.get(edge.id) as TreeNode)
    parentOf.set(edge.id, parent.url)
  }
  for (const node of bottomUp(roots)) node.size = node.children.reduce((sum, child) => sum + child.size + 1, 0)
  return { roots, byUrl, parentOf }
}

/** Every node, children before their parents. */
function bottomUp(roots: readonly TreeNode[]): TreeNode[] {
  const order = [...roots]
  for (let at = 0; at < order.length; at += 1) order.push(...(order[at] as TreeNode).children)
  return order.reverse()
}

export interface TreeLine {
  node: TreeNode
  level: number
  position: number
  siblings: number
}

/** The lines of the tree in which these nodes are expanded. */
export function lines(roots: readonly TreeNode[], expanded: ReadonlySet<string>): TreeLine[] {
  const result: TreeLine[] = []
  const pending: TreeLine[] = []
  const push = (nodes: readonly TreeNode[], level: number) => {
    for (let index = nodes.length - 1; index >= 0; index -= 1)
      pending.push({ node: nodes[index] as TreeNode, level, position: index + 1, siblings: nodes.length })
  }
  push(roots, 1)
  for (let line = pending.pop(); line !== undefined; line = pending.pop()) {
    result.push(line)
    if (expanded.has(line.node.url)) push(line.node.children, line.level + 1)
  }
  return result
}

/** Every URL that contains the text, in the order of the tree. */
export function matches(tree: Lineage, text: string): string[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  return [...tree.byUrl.keys()].filter((url) => url.toLowerCase().includes(wanted))
}

/** The nodes above a URL. */
export function ancestors(tree: Lineage, url: string): string[] {
  const above: string[] = []
  for (let at = tree.parentOf.get(url); at !== undefined; at = tree.parentOf.get(at)) above.push(at)
  return above
}

export interface Place {
  x: number
  y: number
}

/** A radial layout: the distance from the centre is the level, and every node gets a share of the circle by its leaves. */
export function radial(roots: readonly TreeNode[]): Map<string, Place> {
  const leaves = new Map<string, number>()
  for (const node of bottomUp(roots))
    leaves.set(node.url, node.children.length === 0 ? 1 : node.children.reduce((sum, child) => sum + (leaves.get(child.url) ?? 1), 0))
  const places = new Map<string, Place>()
  const total = roots.reduce((sum, root) => sum + (leaves.get(root.url) ?? 1), 0) || 1
  const pending: { node: TreeNode; from: number; to: number; level: number }[] = []
  let from = 0
  for (const root of roots) {
    const to = from + (2 * Math.PI * (leaves.get(root.url) ?? 1)) / total
    pending.push({ node: root, from, to, level: roots.length === 1 ? 0 : 1 })
    from = to
  }
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    const angle = (item.from + item.to) / 2
    places.set(item.node.url, { x: item.level * Math.cos(angle), y: item.level * Math.sin(angle) })
    const share = (item.to - item.from) / (leaves.get(item.node.url) ?? 1)
    let start = item.from
    for (const child of item.node.children) {
      const end = start + share * (leaves.get(child.url) ?? 1)
      pending.push({ node: child, from: start, to: end, level: item.level + 1 })
      start = end
    }
  }
  return places
}
