/**
 * Shows Markdown of a crawled page. The parser gives a tree, and each kind of node becomes a React element here, so text stays
 * text: there is no way for HTML in it to reach the document. Links are followed only to http and https addresses. Pictures are shown
 * as this server stores them, or else named: loading one would tell the crawled site who reads it.
 */
import { VisuallyHidden } from '@mantine/core'
import type { AlignType, Blockquote, Nodes, Root, RootContent, TableRow } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { createElement, useMemo, type ReactNode } from 'react'
import { Picture } from '../parts/icons'
import { isWebAddress } from '../parts/values'
import { texts } from '../texts'

const MAX_CHARACTERS = 500_000

/** Pictures on this server, by their address on the page. */
export type Pictures = ReadonlyMap<string, { storageUrl: string; width: number | null; height: number | null }>

interface MarkdownProps {
  text: string
  /** A heading that stands above the text already: it is left out where the text begins with it. */
  without?: string
  pictures?: Pictures
}

export function Markdown({ text, without = '', pictures = new Map() }: MarkdownProps) {
  const tree = useMemo(
    () => fromMarkdown(text.slice(0, MAX_CHARACTERS), { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }),
    [text],
  )
  const targets = useMemo(() => ({ links: definitions(tree), pictures }), [tree, pictures])
  const first = tree.children[0]
  const isRepeated = first?.type === 'heading' && plainText(first) === plain(without)
  const shown = children(tree, targets)
  return <article className="reading">{isRepeated ? shown.slice(1) : shown}</article>
}

/** What the references in a text lead to. */
interface Targets {
  links: ReadonlyMap<string, string>
  pictures: Pictures
}

function definitions(tree: Root): Map<string, string> {
  const found = new Map<string, string>()
  for (const node of tree.children) if (node.type === 'definition') found.set(node.identifier, node.url)
  return found
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim().toLowerCase()
}

function plainText(node: Nodes): string {
  const text = (each: Nodes): string => ('value' in each ? each.value : 'children' in each ? each.children.map(text).join('') : '')
  return plain(text(node))
}

/** The tone of a quotation that is a note: its first words are bold and end with a colon. */
function noteTone(node: Blockquote): 'busy' | 'warn' | undefined {
  const first = node.children[0]
  const lead = first?.type === 'paragraph' && first.children[0]?.type === 'strong' ? plainText(first.children[0]) : ''
  if (!lead.endsWith(':')) return undefined
  return /warn|caution|danger|attention|important|achtung|vorsicht/.test(lead) ? 'warn' : 'busy'
}

function children(node: Nodes, targets: Targets): ReactNode[] {
  return 'children' in node ? node.children.map((child, index) => element(child as RootContent, targets, index)) : []
}

function element(node: RootContent, targets: Targets, key: number): ReactNode {
  const inside = () => children(node, targets)
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
        <pre key={key} tabIndex={0} data-language={node.lang || undefined}>
          <code>{node.value}</code>
        </pre>
      )
    case 'break':
      return <br key={key} />
    case 'thematicBreak':
      return <hr key={key} />
    case 'blockquote': {
      const tone = noteTone(node)
      return (
        <blockquote key={key} className={tone && `note tone-${tone}`}>
          {inside()}
        </blockquote>
      )
    }
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
      return link(targets.links.get(node.identifier) ?? '', inside(), key)
    case 'image':
    case 'imageReference': {
      const url = node.type === 'image' ? node.url : (targets.links.get(node.identifier) ?? '')
      const stored = targets.pictures.get(url)
      return stored ? (
        <img
          key={key}
          className="stored-picture"
          src={stored.storageUrl}
          width={stored.width ?? undefined}
          height={stored.height ?? undefined}
          alt={node.alt ?? ''}
          loading="lazy"
          decoding="async"
        />
      ) : (
        <span key={key} className="picture">
          <Picture /> {texts.page.picture(node.alt ?? '')}
        </span>
      )
    }
    case 'table':
      return <MarkdownTable key={key} rows={node.children} align={node.align ?? []} targets={targets} />
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

function MarkdownTable({ rows, align, targets }: { rows: TableRow[]; align: AlignType[]; targets: Targets }) {
  const [head, ...body] = rows
  const cells = (row: TableRow, tag: 'th' | 'td') =>
    row.children.map((cell, index) => {
      const inside = children(cell, targets)
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
