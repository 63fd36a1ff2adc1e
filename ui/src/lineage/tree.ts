/** How the URLs of a run were found, as a tree: every URL is below the page on which it was found first. */
import type { LineageColumns, UrlState } from '../api/client'

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
  parent: TreeNode | null
  children: TreeNode[]
  /** Number of nodes below this one. */
  size: number
  /** The place in the graph, which the server computes. */
  x: number
  y: number
}

export interface Lineage {
  roots: TreeNode[]
  /** In the order in which they were found, so parents come before their children. */
  nodes: TreeNode[]
  byUrl: Map<string, TreeNode>
}

export function lineage(columns: LineageColumns): Lineage {
  const kinds = columns.type_names.map(kindOf)
  const nodes: TreeNode[] = []
  const roots: TreeNode[] = []
  const byUrl = new Map<string, TreeNode>()
  columns.urls.forEach((url, index) => {
    const parent = nodes[columns.parents[index] as number] ?? null
    const node: TreeNode = {
      url,
      state: (columns.state_names[columns.states[index] as number] as UrlState | undefined) ?? null,
      depth: columns.depths[index] as number,
      kind: columns.states[index] === -1 ? 'feed' : (kinds[columns.types[index] as number] as Kind),
      parent,
      children: [],
      size: 0,
      x: columns.x[index] as number,
      y: columns.y[index] as number,
    }
    nodes.push(node)
    byUrl.set(url, node)
    ;(parent === null ? roots : parent.children).push(node)
  })
  for (let index = nodes.length - 1; index >= 0; index -= 1) {
    const { parent, size } = nodes[index] as TreeNode
    if (parent !== null) parent.size += size + 1
  }
  return { roots, nodes, byUrl }
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
  return tree.nodes.filter(({ url }) => url.toLowerCase().includes(wanted)).map(({ url }) => url)
}

/** The URLs above a URL. */
export function ancestors(tree: Lineage, url: string): string[] {
  const above: string[] = []
  for (let at = tree.byUrl.get(url)?.parent; at; at = at.parent) above.push(at.url)
  return above
}
