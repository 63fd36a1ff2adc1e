/** The backups that the operator's directory holds, or how to make one. */
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import * as manage from '../api/manage'
import { Failure, Loading, Section } from '../parts/frames'
import { bytes, Time } from '../parts/values'
import { texts } from '../texts'
import { Command, DataTable, TIME } from './parts'

const words = texts.manage.backups

export function BackupsTab() {
  const backups = useQuery(manage.backups)
  if (backups.isPending) return <Loading />
  if (backups.error) return <Failure error={backups.error} retry={() => void backups.refetch()} />
  const { isConfigured, backups: listed } = backups.data
  return (
    <Stack>
      {listed.length > 0 && (
        <DataTable
          label={texts.manage.tabs.backups}
          minWidth="58rem"
          columns={[
            { label: words.columns.name },
            { label: words.columns.created, width: TIME },
            { label: words.columns.database, width: '13rem' },
            { label: words.columns.content, width: '14rem' },
            { label: words.columns.size, width: '7rem', isNumber: true },
          ]}
        >
          {listed.map((backup) => (
            <tr key={backup.name}>
              <th scope="row">{backup.name}</th>
              <td>
                <Time value={backup.createdAt} />
              </td>
              <td>{words.database(backup.database, backup.revision)}</td>
              <td>{words.content(backup.blobs, backup.media)}</td>
              <td className="number">{bytes(backup.sizeBytes)}</td>
            </tr>
          ))}
        </DataTable>
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
