/** Tables of lists that the server or the browser sorts, filters and pages; their state is in the address of the screen. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState, type ReactNode } from 'react'
import { texts } from '../texts'
import { DownloadButtons } from './downloads'
import { FacetButtons, useAddressState } from './filters'
import { Empty } from './frames'
import { Search } from './icons'

const TYPING_MS = 250

export function TextFilter({ value, label, onChange }: { value: string; label: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  const send = useDebouncedCallback(onChange, TYPING_MS)
  useEffect(() => setTyped(value), [value])
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={label}
      leftSection={<Search />}
      maxLength={200}
      size="xs"
      style={{ flex: '1 1 12rem', maxWidth: '24rem' }}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value)
        send(event.currentTarget.value)
      }}
    />
  )
}

export interface Column<Row> {
  id: string
  label: string
  cell: (row: Row) => ReactNode
  /** The name by which the server sorts; without it the column cannot be sorted. */
  sort?: string
  width?: string
  isNumber?: boolean
  /** The cell names its row. */
  isHeader?: boolean
}

interface RowGroup<Row> {
  id: string
  label: string
  rows: readonly Row[]
  isOpen: boolean
  toggle: () => void
}

interface DataTableProps<Row> {
  label: string
  columns: readonly Column<Row>[]
  /** Rows, or groups of them that can be folded. */
  rows?: readonly Row[]
  groups?: readonly RowGroup<Row>[]
  keyOf: (row: Row) => string
  minWidth: string
  sort?: string
  isDescending?: boolean
  onSort?: (sort: string) => void
}

export function DataTable<Row>({ label, columns, rows = [], groups, keyOf, minWidth, sort, isDescending, onSort }: DataTableProps<Row>) {
  return (
    <div className="table-frame" role="region" aria-label={label} tabIndex={0} style={{ maxHeight: '75vh', overflowY: 'auto' }}>
      <table className="rows" style={{ minWidth }}>
        <thead>
          <tr>
            {columns.map((column) => {
              const isSorted = column.sort !== undefined && column.sort === sort
              const direction = isDescending ? 'descending' : 'ascending'
              return (
                <th
                  key={column.id}
                  scope="col"
                  className={column.isNumber ? 'number' : undefined}
                  style={{ width: column.width }}
                  aria-sort={isSorted ? direction : column.sort ? 'none' : undefined}
                >
                  {column.sort && onSort ? (
                    <button type="button" onClick={() => onSort(column.sort ?? '')}>
                      {column.label} <span aria-hidden>{isSorted ? (isDescending ? '↓' : '↑') : '↕'}</span>
                    </button>
                  ) : (
                    <span>{column.label}</span>
                  )}
                </th>
              )
            })}
          </tr>
        </thead>
        {groups ? (
          groups.map((group) => (
            <tbody key={group.id}>
              <tr className="group">
                <th scope="rowgroup" colSpan={columns.length}>
                  <button type="button" aria-expanded={group.isOpen} onClick={group.toggle}>
                    <span aria-hidden>{group.isOpen ? '▾' : '▸'}</span> {group.label} <span className="count">{group.rows.length.toLocaleString()}</span>
                  </button>
                </th>
              </tr>
              {group.isOpen && <TableRows columns={columns} rows={group.rows} keyOf={keyOf} />}
            </tbody>
          ))
        ) : (
          <tbody>
            <TableRows columns={columns} rows={rows} keyOf={keyOf} />
          </tbody>
        )}
      </table>
    </div>
  )
}

function TableRows<Row>({ columns, rows, keyOf }: { columns: readonly Column<Row>[]; rows: readonly Row[]; keyOf: (row: Row) => string }) {
  return rows.map((row) => (
    <tr key={keyOf(row)}>
      {columns.map((column) => {
        const className = column.isNumber ? 'number' : undefined
        const content = column.cell(row)
        return column.isHeader ? (
          <th key={column.id} scope="row" className={className}>
            {content}
          </th>
        ) : (
          <td key={column.id} className={className}>
            {content}
          </td>
        )
      })}
    </tr>
  ))
}

interface PagerProps {
  offset: number
  size: number
  hasMore: boolean
  onChange: (offset: string) => void
}

/** Buttons to the part of a list before and after this one. */
export function Pager({ offset, size, hasMore, onChange }: PagerProps) {
  if (offset === 0 && !hasMore) return null
  return (
    <Group justify="center">
      <Button variant="default" disabled={offset === 0} onClick={() => onChange(offset > size ? String(offset - size) : '')}>
        {texts.urls.previous(size)}
      </Button>
      <Button variant="default" disabled={!hasMore} onClick={() => onChange(String(offset + size))}>
        {texts.urls.next(size)}
      </Button>
    </Group>
  )
}

/** Which part of the list is shown. */
export function Range({ offset, shown, total }: { offset: number; shown: number; total: number }) {
  return (
    <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
      {shown === 0 ? texts.urls.noRange : texts.urls.range(offset + 1, offset + shown, total)}
    </Text>
  )
}

interface ListBarProps {
  /** Names the text filter. */
  label: string
  text: string
  setText: (text: string) => void
  range: { offset: number; shown: number; total: number }
  isFiltered: boolean
  clear: () => void
  /** Buttons that download the list. */
  downloads: ReactNode
  /** Facets, one group in a line. */
  children?: ReactNode
}

/** What stands above every table: text filter, which part is shown, downloads, and facets below. */
export function ListBar({ label, text, setText, range, isFiltered, clear, downloads, children }: ListBarProps) {
  return (
    <Stack gap="xs">
      <Group gap="xs" justify="space-between">
        <Group gap="xs" style={{ flex: '1 1 16rem' }}>
          <TextFilter label={label} value={text} onChange={setText} />
          <Range {...range} />
          {isFiltered && (
            <Button variant="subtle" size="compact-sm" onClick={clear}>
              {texts.urls.clear}
            </Button>
          )}
        </Group>
        {downloads}
      </Group>
      {children}
    </Stack>
  )
}

type Value = string | number | boolean | null | undefined

export interface LocalColumn<Row> extends Omit<Column<Row>, 'sort'> {
  /** What the column is filtered, sorted and downloaded by; without it, the column is only shown. */
  value?: (row: Row) => Value
  /** The word for each value, where the values are facets. */
  facet?: (value: string) => string
}

interface LocalTableProps<Row> {
  label: string
  /** Name of downloaded files, and of the parameters in the address where a screen has several tables. */
  name: string
  isOneOfSeveral?: boolean
  columns: readonly LocalColumn<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  minWidth: string
  /** Rows as they are downloaded, where that is more than the columns. */
  download?: (row: Row) => object
  /** The group of a row, by which the rows are folded; a filter opens all groups. */
  groupOf?: (row: Row) => string
}

const ROWS_PER_PAGE = 100

/** A table over rows that are all here: text filter, facets with counts, sort, pages, CSV and JSON of what is shown. */
export function LocalTable<Row>({ label, name, isOneOfSeveral, columns, rows, keyOf, minWidth, download, groupOf }: LocalTableProps<Row>) {
  const [parameters, change] = useAddressState()
  const at = (parameter: string) => (isOneOfSeveral ? `${name}.${parameter}` : parameter)
  const set = (changes: Record<string, string | readonly string[]>) =>
    change({ [at('offset')]: '', ...Object.fromEntries(Object.entries(changes).map(([key, value]) => [at(key), value])) })
  const text = parameters.get(at('q')) ?? ''
  const sort = parameters.get(at('sort')) ?? ''
  const isDescending = parameters.get(at('order')) === 'desc'
  const facets = columns.filter((column) => column.facet)
  const chosen = Object.fromEntries(facets.map((column) => [column.id, parameters.getAll(at(column.id))]))

  const found = rows.filter((row) => contains(row, columns, text))
  const passes = (row: Row, except?: string) =>
    facets.every(({ id, value }) => id === except || chosen[id]?.length === 0 || chosen[id]?.includes(shown(value?.(row))))
  const by = columns.find((column) => column.id === sort)?.value
  const listed = found.filter((row) => passes(row))
  if (by) listed.sort((a, b) => compare(by(a), by(b)) * (isDescending ? -1 : 1))
  const offset = Math.min(Number(parameters.get(at('offset'))) || 0, Math.floor(Math.max(0, listed.length - 1) / ROWS_PER_PAGE) * ROWS_PER_PAGE)
  const page = groupOf ? listed : listed.slice(offset, offset + ROWS_PER_PAGE)
  // A facet with one value filters nothing.
  const hasChoice = ({ id, value }: LocalColumn<Row>) => (chosen[id]?.length ?? 0) > 0 || new Set(rows.map((row) => shown(value?.(row)))).size > 1
  const isFiltered = text !== '' || Object.values(chosen).some((values) => values.length > 0)
  const clear = () => set({ q: '', ...Object.fromEntries(facets.map(({ id }) => [id, ''])) })
  const names = groupOf && [...new Set(listed.map(groupOf))].sort((a, b) => a.localeCompare(b))
  const opened = parameters.getAll(at('open'))
  const groups = names?.map((group) => ({
    id: group,
    label: group,
    rows: listed.filter((row) => groupOf?.(row) === group),
    isOpen: isFiltered || opened.includes(group),
    toggle: () => change({ [at('open')]: opened.includes(group) ? opened.filter((each) => each !== group) : [...opened, group] }),
  }))
  const values = (row: Row) => Object.fromEntries(columns.flatMap((column) => (column.value ? [[column.id, column.value(row) ?? null]] : [])))
  return (
    <Stack gap="sm">
      <ListBar
        label={texts.urls.filterOf(label)}
        text={text}
        setText={(q) => set({ q })}
        range={{ offset, shown: page.length, total: listed.length }}
        isFiltered={isFiltered}
        clear={clear}
        downloads={<DownloadButtons name={name} load={() => Promise.resolve(listed.map(download ?? values))} />}
      >
        {facets.filter(hasChoice).map((column) => (
          <FacetButtons
            key={column.id}
            label={column.label}
            counts={counted(found.filter((row) => passes(row, column.id)).map((row) => shown(column.value?.(row))))}
            chosen={chosen[column.id] ?? []}
            word={column.facet ?? String}
            onChange={(picked) => set({ [column.id]: picked })}
          />
        ))}
        {names && !isFiltered && (
          <button type="button" className="link-button small" onClick={() => change({ [at('open')]: opened.length < names.length ? names : [] })}>
            {opened.length < names.length ? texts.lineage.expandAll : texts.lineage.collapseAll}
          </button>
        )}
      </ListBar>
      {page.length === 0 ? (
        <Empty title={texts.urls.noRow} />
      ) : (
        <DataTable
          label={label}
          columns={columns.map((column) => ({ ...column, sort: column.value && column.id }))}
          rows={page}
          groups={groups}
          keyOf={keyOf}
          minWidth={minWidth}
          sort={sort}
          isDescending={isDescending}
          onSort={(id) => set({ sort: id, order: sort === id && !isDescending ? 'desc' : '' })}
        />
      )}
      <Pager offset={offset} size={ROWS_PER_PAGE} hasMore={offset + page.length < listed.length} onChange={(to) => change({ [at('offset')]: to })} />
    </Stack>
  )
}

function shown(value: Value): string {
  return value === null || value === undefined ? '' : String(value)
}

function contains<Row>(row: Row, columns: readonly LocalColumn<Row>[], text: string): boolean {
  const wanted = text.trim().toLowerCase()
  return wanted === '' || columns.some(({ value }) => shown(value?.(row)).toLowerCase().includes(wanted))
}

/** Numbers by size, everything else by its text; rows without a value come last in ascending order. */
function compare(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (shown(a) === '' || shown(b) === '') return shown(a) === shown(b) ? 0 : shown(a) === '' ? 1 : -1
  return shown(a).localeCompare(shown(b), undefined, { numeric: true })
}

function counted(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) if (value !== '') counts[value] = (counts[value] ?? 0) + 1
  return counts
}
