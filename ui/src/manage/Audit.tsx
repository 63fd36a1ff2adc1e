/** The audit log of the tenant, and the check of its chain of hashes. */
import { Alert, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { every, get } from '../api/client'
import * as manage from '../api/manage'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { DownloadButtons } from '../parts/downloads'
import { DataTable, type Column } from '../parts/table'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { Pages, TIME, useListPage } from './parts'

const words = texts.account.audit
const EXPORTED = 1000

const COLUMNS: Column<manage.AuditRecord>[] = [
  { id: 'seq', label: words.columns.number, width: '4.5rem', isHeader: true, cell: (record) => record.seq },
  { id: 'at', label: words.columns.at, width: TIME, cell: (record) => <Time value={record.at} /> },
  { id: 'actor', label: words.columns.actor, cell: (record) => record.actor },
  { id: 'action', label: words.columns.action, width: '12.5rem', cell: (record) => record.action },
  {
    id: 'object',
    label: words.columns.object,
    width: '17rem',
    cell: (record) => (
      <span className="one-line" title={record.object}>
        {record.object}
      </span>
    ),
  },
  { id: 'address', label: words.columns.address, width: '8.5rem', cell: (record) => record.address },
]

export function AuditTab() {
  const [parameters, change] = useAddressState()
  const action = parameters.get('action') ?? ''
  const object = parameters.get('object') ?? ''
  const log = useQuery(manage.audit(action, object, useListPage(manage.PER_PAGE)))
  const check = useMutation({ mutationFn: () => get<manage.AuditCheck>(`${manage.AUDIT}/verify`) })
  return (
    <Stack>
      <Group justify="space-between" align="flex-end">
        <Filter key={`${action} ${object}`} action={action} object={object} apply={(filter) => change({ ...filter, page: '' })} />
        <Group gap="xs">
          <DownloadButtons name="audit-log" load={() => every((offset) => records(action, object, offset))} />
          <Button variant="default" size="compact-sm" loading={check.isPending} onClick={() => check.mutate()}>
            {words.verify}
          </Button>
        </Group>
      </Group>
      {check.error && <Failure error={check.error} />}
      {check.data && (
        <Alert color={check.data.isIntact ? 'green' : 'red'} variant="outline" role="status">
          {check.data.isIntact ? words.intact(check.data.records) : words.broken(check.data.brokenAt ?? 0)}
          <Text size="sm" mt={4}>
            {words.lastHash} <Code style={{ overflowWrap: 'anywhere' }}>{check.data.lastHash}</Code>
          </Text>
        </Alert>
      )}
      {log.isPending && <Loading />}
      {log.error && <Failure error={log.error} retry={() => void log.refetch()} />}
      {log.data?.records.length === 0 && (
        <Empty title={action || object ? words.noMatch : words.none}>
          {(action || object) && (
            <Button variant="default" onClick={() => change({ action: '', object: '', page: '' })}>
              {texts.urls.clear}
            </Button>
          )}
        </Empty>
      )}
      {log.data && log.data.records.length > 0 && (
        <DataTable label={texts.account.tabs.audit} minWidth="64rem" columns={COLUMNS} rows={log.data.records} keyOf={(record) => record.id} />
      )}
      <Pages total={log.data?.pagination.total ?? 0} perPage={manage.PER_PAGE} />
    </Stack>
  )
}

async function records(action: string, object: string, offset: number) {
  const part = await get<manage.AuditLog>(manage.AUDIT, { action, object, limit: EXPORTED, offset })
  return { items: part.records, hasMore: part.pagination.has_more }
}

interface FilterProps {
  action: string
  object: string
  apply: (filter: { action: string; object: string }) => void
}

function Filter({ action, object, apply }: FilterProps) {
  const [typedAction, setAction] = useState(action)
  const [typedObject, setObject] = useState(object)
  function submit(event: FormEvent) {
    event.preventDefault()
    apply({ action: typedAction.trim(), object: typedObject.trim() })
  }
  return (
    <form onSubmit={submit}>
      <Group gap="xs" align="flex-end">
        <TextInput label={words.columns.action} placeholder={words.examples.action} value={typedAction} onChange={(event) => setAction(event.currentTarget.value)} />
        <TextInput label={words.columns.object} placeholder={words.examples.object} value={typedObject} onChange={(event) => setObject(event.currentTarget.value)} />
        <Button type="submit" variant="default">
          {words.filter}
        </Button>
      </Group>
    </form>
  )
}
