/** What a page says about itself in a form for programs: structured data, contacts, forms, actions and more, as tables. */
import { Code, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import type { Page } from '../api/client'
import { Empty, Facts, Section } from '../parts/frames'
import { WarningLabel } from '../parts/states'
import { isWebAddress, percent, WebLink } from '../parts/values'
import { texts } from '../texts'
import { contactsOf, entitiesOf, fieldWords, isEmpty, isObject, listOf, textOf, type Entity, type Json } from './data'

const words = texts.pageData
/** Values nested deeper than this are shown as JSON. */
const MAX_DEPTH = 4
/** Longer texts are folded. */
const LONG_TEXT = 400

export function PageData({ page }: { page: Page }) {
  const parts = [
    ['structured', page.structured, <Entities page={page} />],
    ['contacts', contactsOf(page), <Contacts page={page} />],
    ['forms', page.forms, <Forms page={page} />],
    ['actions', page.actions, <Actions page={page} />],
    ['meta', page.meta, <Metadata page={page} />],
    ['headings', page.headings, <Headings page={page} />],
    ['landmarks', page.landmarks, <Landmarks page={page} />],
    ['brand', page.brand, <Fields fields={page.brand as Json} />],
    ['rendering', page.rendering, <Fields fields={page.rendering as Json} />],
  ] as const
  const filled = parts.filter(([, value]) => !isEmpty(value))
  const empty = parts.filter(([, value]) => isEmpty(value))
  if (filled.length === 0) return <Empty title={words.nothing} />
  return (
    <Stack>
      {filled.map(([name, value, shown]) => (
        <Section key={name} title={Array.isArray(value) ? `${words.parts[name]} (${value.length.toLocaleString()})` : words.parts[name]}>
          <Stack gap="sm">
            {shown}
            {name !== 'contacts' && <Raw value={value} label={words.parts[name]} />}
          </Stack>
        </Section>
      ))}
      {empty.length > 0 && (
        <Text size="sm" c="dimmed">
          {words.missing(empty.map(([name]) => words.parts[name]))}
        </Text>
      )}
    </Stack>
  )
}

/** The JSON of a part, folded. */
function Raw({ value, label }: { value: unknown; label: string }) {
  return (
    <details className="fold">
      <summary>{words.json}</summary>
      <pre className="source" tabIndex={0} aria-label={words.jsonOf(label)}>
        {JSON.stringify(value, null, 2)}
      </pre>
    </details>
  )
}

function Table({ label, head, rows }: { label: string; head: readonly string[]; rows: readonly (readonly ReactNode[])[] }) {
  return (
    <div className="table-frame" role="region" aria-label={label} tabIndex={0}>
      <table className="small-rows" style={{ minWidth: `${head.length * 8}rem` }}>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (at === 0 ? <th key={at} scope="row">{cell}</th> : <td key={at}>{cell}</td>))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Plain({ value }: { value: unknown }) {
  if (typeof value === 'boolean') return <>{value ? texts.yes : texts.no}</>
  const text = String(value)
  if (isWebAddress(text) && !/\s/.test(text)) return <WebLink url={text} />
  if (text.length <= LONG_TEXT) return <>{text}</>
  return (
    <details className="fold">
      <summary>{`${text.slice(0, LONG_TEXT / 4)} …`}</summary>
      {text}
    </details>
  )
}

/** Whether rows can be the rows of one table: only plain fields, and not too many different ones. */
function isTabular(rows: readonly unknown[]): rows is Json[] {
  if (rows.length < 2 || !rows.every(isObject)) return false
  return columnsOf(rows).length <= 6 && rows.every((row) => Object.values(row).every((value) => typeof value !== 'object'))
}

function columnsOf(rows: readonly Json[]): string[] {
  return [...new Set(rows.flatMap(Object.keys))]
}

function Value({ name, value, depth }: { name: string; value: unknown; depth: number }): ReactNode {
  if (value === null || value === undefined || value === '') return texts.none
  if (typeof value !== 'object') return <Plain value={value} />
  if (depth >= MAX_DEPTH) return <Code block>{JSON.stringify(value, null, 2)}</Code>
  if (Array.isArray(value)) {
    if (isTabular(value)) {
      const columns = columnsOf(value)
      return <Table label={fieldWords(name)} head={columns.map(fieldWords)} rows={value.map((row) => columns.map((column) => (column in row ? <Plain value={row[column]} /> : '')))} />
    }
    return (
      <ul className="plain-list">
        {value.map((each, index) => (
          <li key={index}>
            <Value name={name} value={each} depth={depth + 1} />
          </li>
        ))}
      </ul>
    )
  }
  const { types, properties, ...rest } = value as Json
  // An entity within another one.
  if (isObject(properties)) return <Fields fields={{ ...(isEmpty(types) ? {} : { type: textOf(types) }), ...properties }} depth={depth + 1} />
  return <Fields fields={{ ...(isEmpty(types) ? {} : { type: textOf(types) }), ...rest }} depth={depth + 1} />
}

function Fields({ fields, depth = 0 }: { fields: Json; depth?: number }) {
  return (
    <Facts
      items={Object.entries(fields)
        .filter(([, value]) => !isEmpty(value))
        .map(([name, value]) => [fieldWords(name), <Value name={name} value={value} depth={depth} />])}
    />
  )
}

function Entities({ page }: { page: Page }) {
  return (
    <>
      {entitiesOf(page).map((entity, index) => (
        <EntityCard key={index} entity={entity} />
      ))}
    </>
  )
}

function EntityCard({ entity }: { entity: Entity }) {
  return (
    <Paper withBorder p="sm" title={entity.at}>
      <Group gap="xs" mb="xs">
        <Title order={3} size="h6">
          {entity.types.join(', ') || words.untyped}
        </Title>
        <span className="tone tone-plain">{words.sources[entity.source] ?? entity.source}</span>
        {entity.isRepaired && <WarningLabel word={words.repaired} />}
      </Group>
      <Fields fields={entity.fields} />
    </Paper>
  )
}

function Contacts({ page }: { page: Page }) {
  return (
    <Table
      label={words.parts.contacts}
      head={[words.contact.kind, words.contact.value, words.contact.label, words.contact.source]}
      rows={contactsOf(page).map(({ kind, value, label, type }) => [words.contact.kinds[kind], value, label, type ? words.contact.structured(type) : words.contact.link])}
    />
  )
}

function Forms({ page }: { page: Page }) {
  return (
    <>
      {listOf(page.forms).map((form, index) => {
        const fields = listOf(form.fields).filter((field) => field.type !== 'hidden')
        const hidden = listOf(form.fields).length - fields.length
        const kind = textOf(form.kind)
        return (
          <Paper key={index} withBorder p="sm" title={textOf(form.selector)}>
            <Group gap="xs" mb="xs">
              <Title order={3} size="h6">
                {words.form.kinds[kind] ?? kind}
              </Title>
              <span className="tone tone-plain">{textOf(form.method)}</span>
            </Group>
            <Stack gap="xs">
              <Facts
                items={[
                  [words.form.action, <WebLink url={textOf(form.action)} />],
                  listOf(form.buttons).length > 0 && [words.form.buttons, listOf(form.buttons).map((button) => textOf(button.label)).filter(Boolean).join(', ') || texts.none],
                  !isEmpty(form.evidence) && [words.form.evidence, textOf(form.evidence)],
                  hidden > 0 && [words.form.hidden, hidden.toLocaleString()],
                ]}
              />
              {fields.length > 0 && (
                <Table
                  label={words.form.fieldsOf(words.form.kinds[kind] ?? kind)}
                  head={[words.form.field, words.form.name, words.form.type, words.form.required, words.form.choices]}
                  rows={fields.map((field) => [
                    textOf(field.label) || texts.none,
                    <code>{textOf(field.name)}</code>,
                    textOf(field.type),
                    field.required === true ? texts.yes : texts.no,
                    listOf(field.options).length > 0 ? listOf(field.options).map((option) => textOf(option.label) || textOf(option.value)).join(', ') : textOf(field.placeholder),
                  ])}
                />
              )}
            </Stack>
          </Paper>
        )
      })}
    </>
  )
}

function Actions({ page }: { page: Page }) {
  return (
    <Table
      label={words.parts.actions}
      head={[words.action.name, words.action.label, words.action.target, words.action.place, words.action.certainty]}
      rows={listOf(page.actions).map((action) => [
        words.action.names[textOf(action.name)] ?? <code>{textOf(action.name)}</code>,
        textOf(action.label),
        isWebAddress(textOf(action.url)) ? <WebLink url={textOf(action.url)} /> : textOf(action.url) || <code>{textOf(action.selector)}</code>,
        textOf(action.zone),
        action.source === 'declared' ? words.action.declared : percent(Number(action.confidence) || 0),
      ])}
    />
  )
}

function Metadata({ page }: { page: Page }) {
  return <Table label={words.parts.meta} head={[words.meta.name, words.meta.content]} rows={Object.entries(page.meta as Json).map(([name, value]) => [<code>{name}</code>, <Plain value={textOf(value)} />])} />
}

function Headings({ page }: { page: Page }) {
  return (
    <ol className="outline">
      {listOf(page.headings).map((heading, index) => (
        <li key={index} style={{ paddingLeft: `${1.2 * (Math.min(6, Number(heading.level) || 1) - 1)}rem` }}>
          <span className="outline-level">{words.level(Number(heading.level) || 1)}</span> {textOf(heading.text) || texts.none}
        </li>
      ))}
    </ol>
  )
}

function Landmarks({ page }: { page: Page }) {
  return (
    <Group gap="xs">
      {listOf(page.landmarks).map((landmark, index) => (
        <Fragment key={index}>
          <span className="tone tone-plain">{[textOf(landmark.role), textOf(landmark.label)].filter(Boolean).join(': ')}</span>
        </Fragment>
      ))}
    </Group>
  )
}
