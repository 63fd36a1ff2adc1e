/** The audit log of the tenant, and the check of its chain of hashes. */
import { Alert, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { address, get } from '../api/client'
import * as manage from '../api/manage'
import { useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { Download } from '../parts/icons'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { DataTable, Pages, TIME, useListPage } from './parts'

const words = texts.account.audit
const EXPORTED = 1000

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
          <Button
            component="a"
            href={address(manage.AUDIT, { action, object, limit: EXPORTED })}
            download="audit-log.json"
            variant="default"
            leftSection={<Download />}
          >
            {words.download}
          </Button>
          <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
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
        <DataTable
          label={texts.account.tabs.audit}
          minWidth="64rem"
          columns={[
            { label: words.columns.number, width: '4.5rem' },
            { label: words.columns.at, width: TIME },
            { label: words.columns.actor },
            { label: words.columns.action, width: '12.5rem' },
            { label: words.columns.object, width: '17rem' },
            { label: words.columns.address, width: '8.5rem' },
          ]}
        >
          {log.data.records.map((record) => (
            <tr key={record.id}>
              <th scope="row">{record.seq}</th>
              <td>
                <Time value={record.at} />
              </td>
              <td>{record.actor}</td>
              <td>{record.action}</td>
              <td style={{ overflowWrap: 'anywhere' }}>{record.object}</td>
              <td>{record.address}</td>
            </tr>
          ))}
        </DataTable>
      )}
      <Pages total={log.data?.pagination.total ?? 0} perPage={manage.PER_PAGE} />
    </Stack>
  )
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
        <TextInput label={words.columns.action} placeholder="token.created" value={typedAction} onChange={(event) => setAction(event.currentTarget.value)} />
        <TextInput label={words.columns.object} placeholder="tenant:7" value={typedObject} onChange={(event) => setObject(event.currentTarget.value)} />
        <Button type="submit" variant="default">
          {words.filter}
        </Button>
      </Group>
    </form>
  )
}
