/** Charts with their figures as a table below, and explanations behind a question mark. */
import { ActionIcon, Group, Paper, Text, Title } from '@mantine/core'
import { isValidElement, useId, useState, type ReactNode } from 'react'
import { texts } from '../texts'
import { DownloadButtons } from './downloads'
import { useAddressState } from './filters'
import { TextFilter } from './table'

interface ExplainedProps {
  title: string
  definition: string
  children: ReactNode
  actions?: ReactNode
}

/** A section whose definition opens with a button. */
export function Explained({ title, definition, children, actions }: ExplainedProps) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  return (
    <Paper withBorder p="md" component="section" aria-label={title} style={{ minWidth: 0 }}>
      <Group justify="space-between" mb="sm" wrap="nowrap" align="flex-start">
        <Group gap="xs" wrap="nowrap">
          <Title order={2} size="h5">
            {title}
          </Title>
          <ActionIcon
            variant="default"
            radius="xl"
            size={24}
            aria-label={texts.insights.define(title)}
            aria-expanded={isOpen}
            aria-controls={isOpen ? id : undefined}
            onClick={() => setOpen(!isOpen)}
          >
            ?
          </ActionIcon>
        </Group>
        {actions}
      </Group>
      {isOpen && (
        <Text id={id} size="sm" c="dimmed" mb="sm" maw="46rem">
          {definition}
        </Text>
      )}
      {children}
    </Paper>
  )
}

export interface Cell {
  key: string
  label: string
  value: number
  /** One of the colours of `tone-…`. */
  tone?: string
}

interface ChartProps {
  name: string
  cells: readonly Cell[]
  /** Heading of the first column of the table. */
  heading: string
}

function summaryOf(name: string, cells: readonly Cell[]): string {
  return `${name}: ${cells.map((cell) => `${cell.label} ${cell.value.toLocaleString()}`).join(', ')}`
}

function FiguresTable({ name, cells, heading, total }: ChartProps & { total?: boolean }) {
  return (
    <div className="table-frame" role="region" aria-label={name} tabIndex={0}>
      <table className="small-rows">
        <thead>
          <tr>
            <th scope="col">{heading}</th>
            <th scope="col" className="number">
              {texts.insights.count}
            </th>
          </tr>
        </thead>
        <tbody>
          {cells.map((cell) => (
            <tr key={cell.key}>
              <th scope="row">
                {cell.tone && <span className={`dot tone-${cell.tone}`} aria-hidden />} {cell.label}
              </th>
              <td className="number">{cell.value.toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
        {total && (
          <tfoot>
            <tr>
              <th scope="row">{texts.insights.total}</th>
              <td className="number">{cells.reduce((sum, cell) => sum + cell.value, 0).toLocaleString()}</td>
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  )
}

const WIDTH = 600

/** One bar with a part for each cell, which add up. */
export function Parts(props: ChartProps) {
  const total = Math.max(1, props.cells.reduce((sum, cell) => sum + cell.value, 0))
  let from = 0
  return (
    <div className="chart">
      <svg role="img" aria-label={summaryOf(props.name, props.cells)} viewBox={`0 0 ${WIDTH} 28`} width="100%" height="28" preserveAspectRatio="none">
        {props.cells.map((cell) => {
          const width = (WIDTH * cell.value) / total
          const start = from
          from += width
          return (
            cell.value > 0 && (
              <g key={cell.key} className={`tone-${cell.tone ?? 'plain'}`}>
                <rect x={start} y="0" width={Math.max(1, width - 1)} height="28" fill="var(--tone-fill)" />
              </g>
            )
          )
        })}
      </svg>
      <FiguresTable {...props} total />
    </div>
  )
}

const HEIGHT = 120

/** Columns of equal width, the largest as high as the chart. */
export function Histogram(props: ChartProps) {
  const most = Math.max(1, ...props.cells.map((cell) => cell.value))
  const step = WIDTH / Math.max(1, props.cells.length)
  return (
    <div className="chart">
      <svg role="img" aria-label={summaryOf(props.name, props.cells)} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" height={HEIGHT} preserveAspectRatio="none">
        <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} stroke="var(--mantine-color-default-border)" />
        {props.cells.map((cell, index) => {
          const height = ((HEIGHT - 4) * cell.value) / most
          return (
            <g key={cell.key} className={`tone-${cell.tone ?? 'busy'}`}>
              <rect x={index * step + step * 0.1} y={HEIGHT - 1 - height} width={step * 0.8} height={height} fill="var(--tone-fill)">
                <title>{`${cell.label}: ${cell.value.toLocaleString()}`}</title>
              </rect>
            </g>
          )
        })}
      </svg>
      <FiguresTable {...props} />
    </div>
  )
}

export interface Line {
  key: string
  label: string
  tone: string
  /** Null where it is not known. */
  values: readonly (number | null)[]
}

interface TrendProps {
  name: string
  /** What each value belongs to, the oldest first. */
  moments: readonly { key: string; label: ReactNode }[]
  lines: readonly Line[]
  heading: string
  most?: number
}

/** Lines over time, all on one scale from zero. */
export function Trend({ name, moments, lines, heading, most }: TrendProps) {
  const top = most ?? Math.max(1, ...lines.flatMap((line) => line.values.map((value) => value ?? 0)))
  const step = WIDTH / Math.max(1, moments.length - 1)
  const y = (value: number) => HEIGHT - 4 - ((HEIGHT - 8) * value) / top
  const latest = lines.map((line) => `${line.label} ${line.values.at(-1) ?? texts.none}`).join(', ')
  return (
    <div className="chart">
      <svg role="img" aria-label={`${name}: ${latest}`} viewBox={`-6 0 ${WIDTH + 12} ${HEIGHT}`} width="100%" height={HEIGHT} preserveAspectRatio="none">
        {lines.map((line) => {
          const points = line.values.flatMap((value, index) => (value === null ? [] : [`${(index * step).toFixed(1)},${y(value).toFixed(1)}`]))
          return (
            <g key={line.key} className={`tone-${line.tone}`}>
              <polyline points={points.join(' ')} fill="none" stroke="var(--tone-fill)" strokeWidth="2.5" vectorEffect="non-scaling-stroke" />
            </g>
          )
        })}
      </svg>
      <div className="table-frame" role="region" aria-label={name} tabIndex={0}>
        <table className="small-rows">
          <thead>
            <tr>
              <th scope="col">{heading}</th>
              {lines.map((line) => (
                <th key={line.key} scope="col" className="number">
                  <span className={`dot tone-${line.tone}`} aria-hidden /> {line.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {[...moments.keys()].reverse().map((index) => (
              <tr key={moments[index]?.key}>
                <th scope="row">{moments[index]?.label}</th>
                {lines.map((line) => (
                  <td key={line.key} className="number">
                    {line.values[index]?.toLocaleString() ?? texts.none}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

interface RowsProps {
  name: string
  headings: readonly string[]
  rows: readonly (readonly ReactNode[])[]
  /** Items that were not stored. */
  more?: number
  /** Columns of numbers, from 0. */
  numbers?: readonly number[]
}

const FEW = 15

/** What a cell says: its text, or the URL or time that its element shows. */
function textOf(cell: ReactNode): string {
  if (typeof cell === 'string' || typeof cell === 'number') return String(cell)
  if (Array.isArray(cell)) return cell.map(textOf).join(' ').trim()
  if (!isValidElement<{ url?: string; value?: string; children?: ReactNode }>(cell)) return ''
  const { url, value, children } = cell.props
  return url ?? value ?? textOf(children)
}

const GROUPING = (1000).toLocaleString().replace(/\d/g, '')
const DECIMAL = (0.5).toLocaleString().replace(/\d/g, '')

/** The number that a cell shows, in the notation of the browser. */
function numberOf(cell: ReactNode): number {
  const text = textOf(cell).replace('−', '-')
  return Number.parseFloat((GROUPING ? text.replaceAll(GROUPING, '') : text).replace(DECIMAL, '.'))
}

/** The names of a table's columns in the address: a screen has several tables. */
function slugOf(...names: string[]): string {
  return names.join(' ').toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

/** A table of which the first rows are shown, and the rest on demand; it is sorted by its headings and, where it is long, filtered by a text. */
export function Rows({ name, headings, rows, more = 0, numbers = [] }: RowsProps) {
  const [isWhole, setWhole] = useState(false)
  const [parameters, change] = useAddressState()
  const table = slugOf(name, headings[0] ?? '')
  const text = parameters.get(`${table}.q`) ?? ''
  const sorted = headings.findIndex((heading) => slugOf(heading) === parameters.get(`${table}.sort`))
  const isDescending = parameters.get(`${table}.order`) === 'desc'
  const wanted = text.trim().toLowerCase()
  const listed = rows.filter((row) => wanted === '' || row.some((cell) => textOf(cell).toLowerCase().includes(wanted)))
  if (sorted >= 0) {
    const isNumber = numbers.includes(sorted)
    const order = (a: ReactNode, b: ReactNode) =>
      isNumber ? numberOf(a) - numberOf(b) : textOf(a).localeCompare(textOf(b), undefined, { numeric: true })
    listed.sort((a, b) => order(a[sorted], b[sorted]) * (isDescending ? -1 : 1))
  }
  const shown = isWhole ? listed : listed.slice(0, FEW)
  return (
    <>
      {rows.length > FEW && (
        <Group mb="xs">
          <TextFilter label={texts.urls.filterOf(name)} value={text} onChange={(q) => change({ [`${table}.q`]: q })} />
        </Group>
      )}
      <div className="table-frame" role="region" aria-label={name} tabIndex={0}>
        <table className="small-rows">
          <thead>
            <tr>
              {headings.map((heading, column) => {
                const isSorted = column === sorted
                return (
                  <th
                    key={column}
                    scope="col"
                    className={numbers.includes(column) ? 'number' : undefined}
                    aria-sort={rows.length < 2 ? undefined : isSorted ? (isDescending ? 'descending' : 'ascending') : 'none'}
                  >
                    {rows.length < 2 ? (
                      heading
                    ) : (
                      <button
                        type="button"
                        onClick={() => change({ [`${table}.sort`]: slugOf(heading), [`${table}.order`]: isSorted && !isDescending ? 'desc' : '' })}
                      >
                        {heading} <span aria-hidden>{isSorted ? (isDescending ? '↓' : '↑') : '↕'}</span>
                      </button>
                    )}
                  </th>
                )
              })}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <tr key={index}>
                {row.map((cell, column) => (
                  <td key={column} className={numbers.includes(column) ? 'number' : undefined}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Group justify="flex-end" mt="xs">
        <DownloadButtons name={name} load={() => Promise.resolve(listed.map((row) => Object.fromEntries(headings.map((heading, at) => [heading, textOf(row[at])]))))} />
      </Group>
      {listed.length > FEW && (
        <button type="button" className="link-button" style={{ marginTop: '0.5rem' }} aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? texts.insights.fewer : texts.insights.all(listed.length)}
        </button>
      )}
      {listed.length === 0 && <Text size="sm">{texts.urls.noRow}</Text>}
      {more > 0 && (
        <Text size="sm" c="dimmed" mt={4}>
          {texts.insights.more(more)}
        </Text>
      )}
    </>
  )
}
