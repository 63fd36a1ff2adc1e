/**
 * What a page says about itself, in the shapes in which the API lists it. All of it was crawled: nothing here trusts a field
 * to be there or to have its type.
 */
import type { Page } from '../api/client'

export type Json = Record<string, unknown>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** A value as one line of text. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join(', ')
  return isObject(value) ? Object.values(value).map(textOf).filter(Boolean).join(', ') : String(value)
}

export function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
}

const INITIALS = new Set(['url', 'id', 'sku', 'gtin', 'mpn', 'isbn'])

/** The name of a field as words: `priceCurrency` and `price_currency` are "Price currency". */
export function fieldWords(name: string): string {
  const last = /^https?:/i.test(name) ? (name.split(/[/#]/).at(-1) ?? name) : name
  const words = last.replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`)
  if (INITIALS.has(words.toLowerCase())) return words.toUpperCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export interface Entity {
  types: string[]
  source: string
  isRepaired: boolean
  /** Where the page wrote it, as a CSS selector. */
  at: string
  /** The fields to show: the summary that is made for known types, or else the properties as they stand. */
  fields: Json
}

/** Without what names the type again. */
function withoutKind({ kind: _, ...fields }: Json): Json {
  return fields
}

export function entitiesOf(page: Page): Entity[] {
  return listOf(page.structured).map((entity) => ({
    types: Array.isArray(entity.types) ? entity.types.map(String) : [],
    source: textOf(entity.source),
    isRepaired: entity.repaired === true,
    at: textOf(entity.at),
    fields: isObject(entity.frame) && !isEmpty(withoutKind(entity.frame)) ? withoutKind(entity.frame) : isObject(entity.properties) ? entity.properties : {},
  }))
}

export type ContactKind = 'email' | 'phone' | 'address'

export interface Contact {
  kind: ContactKind
  value: string
  /** Whose it is, or what the link says. */
  label: string
  /** The type of structured data that names it; empty for a link on the page. */
  type: string
}

function contactsIn(fields: Json, type: string, owner: string): Contact[] {
  const of = (kind: ContactKind, value: unknown, label = owner): Contact[] => (textOf(value) ? [{ kind, value: textOf(value), label, type }] : [])
  return [
    ...of('email', fields.email),
    ...of('phone', fields.telephone),
    ...of('address', fields.address),
    ...listOf(fields.contacts).flatMap((contact) => contactsIn(contact, type, textOf(contact.kind) || owner)),
  ]
}

/** E-mail addresses, telephone numbers and postal addresses of the page, each once. */
export function contactsOf(page: Page): Contact[] {
  const linked = listOf(page.actions).flatMap((action): Contact[] => {
    const kind = { 'contact.email': 'email', 'contact.phone': 'phone' }[textOf(action.name)] as ContactKind | undefined
    const value = textOf(action.url).replace(/^(mailto|tel):/i, '').replace(/\?.*$/, '')
    const label = textOf(action.label)
    return kind && value ? [{ kind, value, label: label === value ? '' : label, type: '' }] : []
  })
  const structured = entitiesOf(page).flatMap(({ types, fields }) => contactsIn(fields, types[0] ?? '', textOf(fields.name)))
  const found = new Map<string, Contact>()
  for (const contact of [...structured, ...linked]) {
    const key = `${contact.kind} ${contact.value.toLowerCase().replace(/[\s()./-]/g, '')}`
    if (!found.has(key)) found.set(key, contact)
  }
  return [...found.values()]
}
