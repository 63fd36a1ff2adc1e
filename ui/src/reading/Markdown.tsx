/**
 * Shows Markdown of a crawled page. The parser gives a tree, and each kind of node becomes a React element here, so text stays
 * text: there is no way for HTML in it to reach the document. Links are followed only to http and https addresses, and pictures
 * are named but not loaded, because loading one would tell the crawled site who reads it.
 */
import { VisuallyHidden } from '@mantine/core'
import type { AlignType, Nodes, Root, RootContent, TableRow } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { createElement, useMemo, type ReactNode } from 'react'
import { Picture } from '../parts/icons'
import { isWebAddress } from '../parts/values'
import { texts } from '../texts'

const MAX_CHARACTERS = 500_000

export function Markdown({ text }: { text: string }) {
  const tree = useMemo(
    () => fromMarkdown(text.slice(0, MAX_CHARACTERS), { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }),
    [text],
  )
  const links = useMemo(() => definitions(tree), [tree])
  return <article className="reading">{children(tree, links)}</article>
}

type Definitions = Map<string, string>

function definitions(tree: Root): Definitions {
  const found: Definitions = new Map()
  for (const node of tree.children) if (node.type === 'definition') found.set(node.identifier, node.url)
  return found
}

function children(node: Nodes, links: Definitions): ReactNode[] {
  return 'children' in node ? node.children.map((child, index) => element(child as RootContent, links, index)) : []
}

function element(node: RootContent, links: Definitions, key: number): ReactNode {
  const inside = () => children(node, links)
  switch (node.type) {
    case 'text':
      return node.value
    case 'html': // shown as the text that it is
      return <code key={key}>{node.value}</code>
    case 'paragraph':
      return <p key={key}>{inside()}</p>
    case 'heading':
      // The screen has its own h1, so those of the page begin one level below it.
      return createElement(`h${Math.min(6, node.depth + 1)}`, { key, className: `level-${node.depth}` }, ...inside())
    case 'emphasis':
      return <em key={key}>{inside()}</em>
    case 'strong':
      return <strong key={key}>{inside()}</strong>
    case 'delete':
      return <del key={key}>{inside()}</del>
    case 'inlineCode':
      return <code key={key}>{node.value}</code>
    case 'code':
      return (
        <pre key={key} tabIndex={0}>
          <code>{node.value}</code>
        </pre>
      )
    case 'break':
      return <br key={key} />
    case 'thematicBreak':
      return <hr key={key} />
    case 'blockquote':
      return <blockquote key={key}>{inside()}</blockquote>
    case 'list':
      return node.ordered ? (
        <ol key={key} start={node.start ?? 1}>
          {inside()}
        </ol>
      ) : (
        <ul key={key}>{inside()}</ul>
      )
    case 'listItem':
      return (
        <li key={key}>
          {typeof node.checked === 'boolean' && (node.checked ? '☑ ' : '☐ ')}
          {inside()}
        </li>
      )
    case 'link':
      return link(node.url, inside(), key)
    case 'linkReference':
      return link(links.get(node.identifier) ?? '', inside(), key)
    case 'image':
    case 'imageReference':
      return (
        <span key={key} className="picture">
          <Picture /> {texts.page.picture(node.alt ?? '')}
        </span>
      )
    case 'table':
      return <MarkdownTable key={key} rows={node.children} align={node.align ?? []} links={links} />
    case 'footnoteReference':
      return <sup key={key}>[{node.identifier}]</sup>
    case 'footnoteDefinition':
      return (
        <div key={key}>
          [{node.identifier}] {inside()}
        </div>
      )
    default:
      return null
  }
}

function link(url: string, inside: ReactNode[], key: number): ReactNode {
  if (!isWebAddress(url)) return <span key={key}>{inside}</span>
  return (
    <a key={key} href={url} target="_blank" rel="noopener noreferrer nofollow">
      {inside.length > 0 ? inside : url}
    </a>
  )
}

function MarkdownTable({ rows, align, links }: { rows: TableRow[]; align: AlignType[]; links: Definitions }) {
  const [head, ...body] = rows
  const cells = (row: TableRow, tag: 'th' | 'td') =>
    row.children.map((cell, index) => {
      const inside = children(cell, links)
      const isEmpty = tag === 'th' && inside.length === 0
      return createElement(
        isEmpty ? 'td' : tag,
        { key: index, style: align[index] ? { textAlign: align[index] } : undefined, scope: tag === 'th' && !isEmpty ? 'col' : undefined },
        ...inside,
      )
    })
  return (
    <div className="table-frame" role="region" tabIndex={0} aria-label={texts.page.table}>
      <table>
        <caption>
          <VisuallyHidden>{texts.page.table}</VisuallyHidden>
        </caption>
        {head && (
          <thead>
            <tr>{cells(head, 'th')}</tr>
          </thead>
        )}
        <tbody>
          {body.map((row, index) => (
            <tr key={index}>{cells(row, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
