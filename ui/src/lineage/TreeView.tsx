/** The lineage as a collapsed tree, for pointer, keyboard and screen reader. Only the lines in view are in the document. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react'
import { urlTone, urlWord } from '../parts/states'
import { shownUrl } from '../parts/values'
import { texts } from '../texts'
import { lines, type Lineage } from './tree'

const LINE_PX = 32
const INDENT_REM = 1.25

interface TreeViewProps {
  tree: Lineage
  expanded: ReadonlySet<string>
  setExpanded: (expanded: ReadonlySet<string>) => void
  match: string | undefined
  inspect: (url: string) => void
}

export function TreeView({ tree, expanded, setExpanded, match, inspect }: TreeViewProps) {
  const shown = lines(tree.roots, expanded)
  const frame = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState('')
  const id = useId()
  const at = Math.max(0, shown.findIndex((line) => line.node.url === active))
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => frame.current,
    estimateSize: () => LINE_PX,
    overscan: 12,
    getItemKey: (index) => shown[index]?.node.url ?? index,
  })

  useEffect(() => {
    if (match === undefined) return
    setActive(match)
    const index = shown.findIndex((line) => line.node.url === match)
    if (index >= 0) virtual.scrollToIndex(index, { align: 'center' })
    // The lines change with every refresh; only a new match scrolls.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [match, expanded])

  function toggle(url: string, open = !expanded.has(url)) {
    const next = new Set(expanded)
    if (open) next.add(url)
    else next.delete(url)
    setExpanded(next)
  }
  function go(index: number) {
    const line = shown[Math.min(shown.length - 1, Math.max(0, index))]
    if (!line) return
    setActive(line.node.url)
    virtual.scrollToIndex(shown.indexOf(line))
  }
  function press(event: KeyboardEvent) {
    const line = shown[at]
    if (!line) return
    const isOpen = expanded.has(line.node.url)
    const parent = line.node.parent?.url
    const actions: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(shown.length - 1),
      PageDown: () => go(at + 15),
      PageUp: () => go(at - 15),
      ArrowRight: () => (line.node.children.length > 0 && !isOpen ? toggle(line.node.url, true) : go(at + 1)),
      ArrowLeft: () => (isOpen ? toggle(line.node.url, false) : parent !== undefined && setActive(parent)),
      Enter: () => inspect(line.node.url),
      ' ': () => toggle(line.node.url),
    }
    const action = actions[event.key]
    if (action) {
      event.preventDefault()
      action()
    }
  }

  return (
    <div
      ref={frame}
      className="tree-frame"
      role="tree"
      tabIndex={0}
      aria-label={texts.lineage.treeLabel}
      aria-activedescendant={shown[at] ? `${id}-${at}` : undefined}
      onKeyDown={press}
    >
      <div role="presentation" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map((item) => {
          const line = shown[item.index]
          if (!line) return null
          const { node, level } = line
          const isOpen = expanded.has(node.url)
          const word = node.state === null ? texts.lineage.otherSources : urlWord(node.state)
          return (
            <div
              key={item.key}
              id={`${id}-${item.index}`}
              role="treeitem"
              aria-level={level}
              aria-posinset={line.position}
              aria-setsize={line.siblings}
              aria-expanded={node.children.length > 0 ? isOpen : undefined}
              aria-selected={item.index === at}
              className="tree-row"
              data-match={node.url === match}
              style={{
                transform: `translateY(${item.start}px)`,
                paddingLeft: `${0.5 + (level - 1) * INDENT_REM}rem`,
                boxShadow: item.index === at ? 'inset 3px 0 0 var(--mantine-primary-color-filled)' : undefined,
              }}
              onClick={() => {
                setActive(node.url)
                inspect(node.url)
              }}
            >
              <span
                className="twist"
                aria-hidden
                onClick={(event) => {
                  event.stopPropagation()
                  setActive(node.url)
                  toggle(node.url)
                }}
              >
                {node.children.length > 0 ? (isOpen ? '▾' : '▸') : ''}
              </span>
              <span className={`dot tone-${node.state === null ? 'plain' : urlTone(node.state)}`} title={word} />
              <span className="name" title={node.url}>
                {shownUrl(node.url)}
              </span>
              <span className="more">{word}</span>
              {node.children.length > 0 && <span className="more">{texts.lineage.children(node.size)}</span>}
            </div>
          )
        })}
      </div>
    </div>
  )
}
