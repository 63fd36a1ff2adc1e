/** Tables of lists that the server sorts, filters and pages; their state is in the address of the screen. */
import { Button, Group, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState, type ReactNode } from 'react'
import { texts } from '../texts'
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
      maw="28rem"
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

interface DataTableProps<Row> {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  minWidth: string
  sort?: string
  isDescending?: boolean
  onSort?: (sort: string) => void
}

export function DataTable<Row>({ label, columns, rows, keyOf, minWidth, sort, isDescending, onSort }: DataTableProps<Row>) {
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
        <tbody>
          {rows.map((row) => (
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
          ))}
        </tbody>
      </table>
    </div>
  )
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
    <Text size="sm" c="dimmed">
      {texts.urls.range(offset + 1, offset + shown, total)}
    </Text>
  )
}
