/** What the colours of the graph mean, with how many nodes have each. */
import { useComputedColorScheme } from '@mantine/core'
import type { UrlState } from '../api/client'
import { urlWord } from '../parts/states'
import { texts } from '../texts'
import { nodeColour, type ColourBy } from './Graph'
import type { Lineage } from './tree'

export default function Legend({ tree, colourBy }: { tree: Lineage; colourBy: ColourBy }) {
  const scheme = useComputedColorScheme('light')
  const counts = new Map<string, { colour: string; count: number }>()
  for (const node of tree.nodes) {
    const state: UrlState | null = node.state
    const word =
      colourBy === 'depth'
        ? texts.lineage.depth(node.depth)
        : colourBy === 'kind'
          ? texts.lineage.kinds[node.kind]
          : state === null
            ? texts.lineage.otherSources
            : urlWord(state)
    const colour = nodeColour(node, colourBy, scheme)
    const entry = counts.get(word) ?? { colour, count: 0 }
    entry.count += 1
    counts.set(word, entry)
  }
  const entries = [...counts].sort((a, b) => (colourBy === 'depth' ? a[0].localeCompare(b[0], undefined, { numeric: true }) : b[1].count - a[1].count))
  return (
    <div className="legend" role="group" aria-label={texts.lineage.legend}>
      {entries.map(([word, { colour, count }]) => (
        <span key={word}>
          <i style={{ background: colour }} />
          {word} {count.toLocaleString()}
        </span>
      ))}
    </div>
  )
}
