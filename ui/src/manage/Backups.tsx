/** The backups that the operator's directory holds, or how to make one. */
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import * as manage from '../api/manage'
import { Failure, Loading, Section } from '../parts/frames'
import { LocalTable, type LocalColumn } from '../parts/table'
import { bytes, Time } from '../parts/values'
import { texts } from '../texts'
import { Command, TIME } from './parts'

const words = texts.manage.backups

const COLUMNS: LocalColumn<manage.Backup>[] = [
  { id: 'name', label: words.columns.name, isHeader: true, value: (backup) => backup.name, cell: (backup) => backup.name },
  { id: 'created', label: words.columns.created, width: TIME, value: (backup) => backup.createdAt, cell: (backup) => <Time value={backup.createdAt} /> },
  {
    id: 'database',
    label: words.columns.database,
    width: '13rem',
    value: (backup) => words.database(backup.database, backup.revision),
    cell: (backup) => words.database(backup.database, backup.revision),
  },
  {
    id: 'content',
    label: words.columns.content,
    width: '14rem',
    value: (backup) => words.content(backup.blobs, backup.media),
    cell: (backup) => words.content(backup.blobs, backup.media),
  },
  { id: 'size', label: words.columns.size, width: '7rem', isNumber: true, value: (backup) => backup.sizeBytes, cell: (backup) => bytes(backup.sizeBytes) },
]

export function BackupsTab() {
  const backups = useQuery(manage.backups)
  if (backups.isPending) return <Loading />
  if (backups.isLoadingError) return <Failure error={backups.error} retry={() => void backups.refetch()} />
  const { isConfigured, backups: listed } = backups.data
  return (
    <Stack>
      {listed.length > 0 && (
        <LocalTable
          label={texts.manage.tabs.backups}
          name="backups"
          minWidth="58rem"
          columns={COLUMNS}
          rows={listed}
          keyOf={(backup) => backup.name}
        />
      )}
      <Section title={words.how}>
        <Stack gap="xs">
          {!isConfigured && <Text>{words.notConfigured}</Text>}
          {isConfigured && listed.length === 0 && <Text>{words.none}</Text>}
          <Command>{words.command}</Command>
          <Text size="sm" c="dimmed">
            {words.hint}
          </Text>
          <Command>{words.restore}</Command>
        </Stack>
      </Section>
    </Stack>
  )
}
