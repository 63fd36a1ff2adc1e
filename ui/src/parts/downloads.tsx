/** Buttons that download a filtered list as files, made here or by the server. */
import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { texts } from '../texts'
import { Failure } from './frames'
import { Download } from './icons'

type Row = Record<string, unknown>

// Spreadsheets take cells with these starts for formulas; the last four are the full-width forms of the first four.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
}

function csv(rows: readonly Row[]): string {
  const names = Object.keys(rows[0] ?? {})
  return [names.join(','), ...rows.map((row) => names.map((name) => cell(row[name])).join(','))].join('\r\n')
}

function save(name: string, type: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

/** Buttons for both formats. `load` gives all rows of the list as it is filtered. */
export function DownloadButtons({ name, load }: { name: string; load: () => Promise<readonly object[]> }) {
  const download = useMutation({
    mutationFn: async (format: 'csv' | 'json') => {
      const rows = (await load()) as readonly Row[]
      if (format === 'csv') save(`${name}.csv`, 'text/csv', csv(rows))
      else save(`${name}.json`, 'application/json', JSON.stringify(rows, null, 1))
    },
  })
  return (
    <>
      <Group gap="xs" role="group" aria-label={texts.urls.download}>
        {(['csv', 'json'] as const).map((format) => (
          <Button
            key={format}
            variant="default"
            size="compact-sm"
            leftSection={<Download size={14} />}
            loading={download.isPending && download.variables === format}
            onClick={() => download.mutate(format)}
          >
            {texts.urls[format]}
          </Button>
        ))}
      </Group>
      {download.error && <Failure error={download.error} />}
    </>
  )
}

/** Links to files that the server writes, one for each format. */
export function DownloadLinks<Format extends string>(props: {
  label: string
  formats: readonly Format[]
  names: Readonly<Record<Format, string>>
  href: (format: Format) => string
  justify?: 'flex-end'
}) {
  return (
    <Group gap="xs" justify={props.justify} role="group" aria-label={props.label}>
      {props.formats.map((format) => (
        <Button
          key={format}
          component="a"
          download
          variant="default"
          size="compact-sm"
          leftSection={<Download size={14} />}
          href={props.href(format)}
        >
          {props.names[format]}
        </Button>
      ))}
    </Group>
  )
}
