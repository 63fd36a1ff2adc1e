/** The URL table of a run: facets with counts, text filter, sort and pages, all of it in the address. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { createColumnHelper, flexRender, getCoreRowModel, useReactTable } from '@tanstack/react-table'
import { useEffect, useState } from 'react'
import { address, runPath, type UrlRow } from '../api/client'
import * as queries from '../api/queries'
import { FacetButtons, useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { Download, Search } from '../parts/icons'
import { reasonWord, UrlStateLabel, urlWord } from '../parts/states'
import { shownUrl, Time } from '../parts/values'
import { texts } from '../texts'

const TYPING_MS = 250
const column = createColumnHelper<UrlRow>()
const SORTS: Record<string, string> = { url: 'normalized_url', depth: 'depth', visited: 'visited_at' }
const WIDTHS: Record<string, string> = {
  status: '10.5rem',
  code: '4.2rem',
  depth: '5.8rem',
  words: '5.2rem',
  visited: '11.8rem',
}
const NUMBERS = new Set(['code', 'depth', 'words'])

interface UrlsTabProps {
  run: string
  inspect: (url: string) => void
  isActive: boolean
}

export function UrlsTab({ run, inspect, isActive }: UrlsTabProps) {
  const [parameters, change] = useAddressState()
  const filter: queries.UrlFilter = {
    status: parameters.getAll('status'),
    skip_reason: parameters.getAll('skip_reason'),
    error: parameters.get('error') ?? '',
    q: parameters.get('q') ?? '',
  }
  const sort = parameters.get('sort') ?? 'id'
  const order = parameters.get('order') ?? 'asc'
  const offset = Math.max(0, Number(parameters.get('offset')) || 0)
  const urls = useQuery(queries.urls(run, filter, sort, order, offset))
  const facets = useQuery(queries.facets(run, filter))
  const isFiltered = Boolean(filter.status?.length || filter.skip_reason?.length || filter.error || filter.q)
  const clear = () => change({ status: '', skip_reason: '', error: '', q: '', offset: '' })

  return (
    <Stack>
      <TextFilter value={filter.q ?? ''} onChange={(q) => change({ q, offset: '' })} />
      {facets.data && (
        <Stack gap="xs">
          <FacetButtons
            label={texts.urls.state}
            counts={facets.data.by_status}
            chosen={filter.status ?? []}
            word={urlWord}
            onChange={(status) => change({ status, offset: '' })}
          />
          <FacetButtons
            label={texts.urls.reason}
            counts={facets.data.skipped}
            chosen={filter.skip_reason ?? []}
            word={reasonWord}
            onChange={(skip_reason) => change({ skip_reason, offset: '' })}
          />
          <FacetButtons
            label={texts.urls.cause}
            counts={facets.data.errors}
            chosen={filter.error ? [filter.error] : []}
            word={(name) => name}
            onChange={(chosen) => change({ error: chosen.at(-1) ?? '', offset: '' })}
          />
        </Stack>
      )}
      {urls.isPending ? (
        <Loading />
      ) : urls.error ? (
        <Failure error={urls.error} retry={() => void urls.refetch()} />
      ) : urls.data.urls.length === 0 ? (
        <Empty title={isFiltered ? texts.urls.none : texts.urls.nothing}>
          {isFiltered && (
            <Button variant="default" onClick={clear}>
              {texts.urls.clear}
            </Button>
          )}
          {!isFiltered && isActive && <Loading height="3rem" />}
        </Empty>
      ) : (
        <>
          <Group justify="space-between">
            <Group gap="xs">
              <Text size="sm" c="dimmed">
                {texts.urls.range(offset + 1, offset + urls.data.urls.length, urls.data.pagination.total)}
              </Text>
              {isFiltered && (
                <Button variant="subtle" size="compact-sm" onClick={clear}>
                  {texts.urls.clear}
                </Button>
              )}
            </Group>
            <Group gap="xs" role="group" aria-label={texts.urls.download}>
              {(['csv', 'json'] as const).map((format) => (
                <Button
                  key={format}
                  component="a"
                  download
                  variant="default"
                  size="compact-sm"
                  leftSection={<Download size={14} />}
                  href={address(runPath(run, 'export'), { ...filter, format })}
                >
                  {texts.urls[format]}
                </Button>
              ))}
            </Group>
          </Group>
          <UrlTable
            rows={urls.data.urls}
            sort={sort}
            order={order}
            inspect={inspect}
            onSort={(by) => change({ sort: by, order: sort === by && order === 'asc' ? 'desc' : '', offset: '' })}
          />
          {urls.data.pagination.total > queries.URLS_PER_PAGE && (
            <Group justify="center">
              <Button
                variant="default"
                disabled={offset === 0}
                onClick={() => change({ offset: offset > queries.URLS_PER_PAGE ? String(offset - queries.URLS_PER_PAGE) : '' })}
              >
                {texts.urls.previous}
              </Button>
              <Button
                variant="default"
                disabled={!urls.data.pagination.has_more}
                onClick={() => change({ offset: String(offset + queries.URLS_PER_PAGE) })}
              >
                {texts.urls.next}
              </Button>
            </Group>
          )}
        </>
      )}
    </Stack>
  )
}

function TextFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  const send = useDebouncedCallback(onChange, TYPING_MS)
  useEffect(() => setTyped(value), [value])
  return (
    <TextInput
      type="search"
      aria-label={texts.urls.filter}
      placeholder={texts.urls.filter}
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

interface UrlTableProps {
  rows: UrlRow[]
  sort: string
  order: string
  onSort: (sort: string) => void
  inspect: (url: string) => void
}

interface Meta {
  inspect: (url: string) => void
}

// A constant: with new functions at every render, the cells would be made anew and lose the focus.
const columns = [
  column.accessor('url', {
    cell: (cell) => (
      <button type="button" className="link-button one-line" title={cell.getValue()} onClick={() => (cell.table.options.meta as Meta).inspect(cell.getValue())}>
        {shownUrl(cell.getValue())}
      </button>
    ),
  }),
  column.accessor('title', {
    cell: (cell) => (
      <span className="one-line" title={cell.getValue()}>
        {cell.getValue()}
      </span>
    ),
  }),
  column.accessor('status', {
    cell: (cell) => {
      const reason = cell.row.original.skip_reason
      return (
        <>
          <UrlStateLabel state={cell.getValue()} />
          {reason && (
            <Text size="xs" c="dimmed" className="one-line" title={reasonWord(reason)}>
              {reasonWord(reason)}
            </Text>
          )}
        </>
      )
    },
  }),
  column.accessor('status_code', { id: 'code', cell: (cell) => cell.getValue() ?? '' }),
  column.accessor('depth', { cell: (cell) => cell.getValue() }),
  column.accessor('word_count', { id: 'words', cell: (cell) => (cell.getValue() ? cell.getValue().toLocaleString() : '') }),
  column.accessor('visited_at', { id: 'visited', cell: (cell) => cell.getValue() && <Time value={cell.getValue()} /> }),
]

function UrlTable({ rows, sort, order, onSort, inspect }: UrlTableProps) {
  const table = useReactTable({
    data: rows,
    columns,
    getCoreRowModel: getCoreRowModel(),
    getRowId: (row) => row.id,
    manualSorting: true,
    meta: { inspect } satisfies Meta,
  })
  return (
    <div className="table-frame" role="region" aria-label={texts.urls.label} tabIndex={0} style={{ maxHeight: '75vh', overflowY: 'auto' }}>
      <table className="rows" style={{ minWidth: '62rem' }}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => {
                const by = SORTS[header.id]
                const direction = order === 'desc' ? 'descending' : 'ascending'
                const word = texts.urls.columns[header.id as keyof typeof texts.urls.columns]
                const isSorted = by !== undefined && by === sort
                return (
                  <th
                    key={header.id}
                    scope="col"
                    className={NUMBERS.has(header.id) ? 'number' : undefined}
                    style={{ width: WIDTHS[header.id] }}
                    aria-sort={isSorted ? direction : by ? 'none' : undefined}
                  >
                    {by ? (
                      <button type="button" onClick={() => onSort(by)}>
                        {word} <span aria-hidden>{isSorted ? (order === 'desc' ? '↓' : '↑') : '↕'}</span>
                      </button>
                    ) : (
                      <span>{word}</span>
                    )}
                  </th>
                )
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id}>
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id} className={NUMBERS.has(cell.column.id) ? 'number' : undefined}>
                  {flexRender(cell.column.columnDef.cell, cell.getContext())}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
