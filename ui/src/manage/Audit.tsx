/** The audit log of the tenant, and the check of its chain of hashes. */
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { every, get } from '../api/client'
import * as manage from '../api/manage'
import { DownloadButtons } from '../parts/downloads'
import { FacetButtons, useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { DataTable, ListBar, type Column } from '../parts/table'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { Pages, TIME, useListPage } from './parts'

const words = texts.account.audit
const EXPORTED = 1000

const COLUMNS: Column<manage.AuditRecord>[] = [
  { id: 'seq', label: words.columns.number, width: '4.5rem', isHeader: true, cell: (record) => record.seq },
  { id: 'at', label: words.columns.at, sort: 'at', width: TIME, cell: (record) => <Time value={record.at} /> },
  { id: 'actor', label: words.columns.actor, sort: 'actor', width: '14rem', cell: (record) => record.actor },
  { id: 'action', label: words.columns.action, sort: 'action', width: '12.5rem', cell: (record) => record.action },
  {
    id: 'object',
    label: words.columns.object,
    sort: 'object',
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
  const sort = parameters.get('sort') ?? 'at'
  // The newest records first, everything else from A to Z.
  const order = parameters.get('order') ?? (sort === 'at' ? 'desc' : 'asc')
  const filter: manage.AuditFilter = {
    q: parameters.get('q') ?? '',
    action: parameters.getAll('action'),
    actor: parameters.getAll('actor'),
    sort,
    order,
  }
  const offset = useListPage(manage.PER_PAGE)
  const log = useQuery(manage.audit(filter, offset))
  const check = useMutation({ mutationFn: () => get<manage.AuditCheck>(`${manage.AUDIT}/verify`) })
  const isFiltered = filter.q !== '' || filter.action.length > 0 || filter.actor.length > 0
  const set = (changes: Record<string, string | readonly string[]>) => change({ ...changes, page: '' })
  const clear = () => set({ q: '', action: '', actor: '' })
  function sortBy(by: string) {
    const isAscending = by === sort ? order === 'desc' : by !== 'at'
    set({ sort: by === 'at' ? '' : by, order: isAscending === (by !== 'at') ? '' : isAscending ? 'asc' : 'desc' })
  }
  return (
    <Stack>
      <ListBar
        label={texts.urls.filterOf(texts.account.tabs.audit)}
        text={filter.q}
        setText={(q) => set({ q })}
        range={{ offset, shown: log.data?.records.length ?? 0, total: log.data?.pagination.total ?? 0 }}
        isFiltered={isFiltered}
        clear={clear}
        downloads={
          <Group gap="xs">
            <DownloadButtons name="audit-log" load={() => every((from) => records(filter, from))} />
            <Button variant="default" size="compact-sm" loading={check.isPending} onClick={() => check.mutate()}>
              {words.verify}
            </Button>
          </Group>
        }
      >
        {log.data && (
          <>
            <Facet label={words.columns.action} counts={log.data.facets.by_action} chosen={filter.action} choose={(action) => set({ action })} />
            <Facet label={words.columns.actor} counts={log.data.facets.by_actor} chosen={filter.actor} choose={(actor) => set({ actor })} />
          </>
        )}
      </ListBar>
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
        <Empty title={isFiltered ? words.noMatch : words.none}>
          {isFiltered && (
            <Button variant="default" onClick={clear}>
              {texts.urls.clear}
            </Button>
          )}
        </Empty>
      )}
      {log.data && log.data.records.length > 0 && (
        <DataTable
          label={texts.account.tabs.audit}
          minWidth="64rem"
          columns={COLUMNS}
          rows={log.data.records}
          keyOf={(record) => record.id}
          sort={sort}
          isDescending={order === 'desc'}
          onSort={sortBy}
        />
      )}
      <Pages total={log.data?.pagination.total ?? 0} perPage={manage.PER_PAGE} />
    </Stack>
  )
}

interface FacetProps {
  label: string
  counts: Record<string, number>
  chosen: readonly string[]
  choose: (names: string[]) => void
}

/** A facet, unless it has one value alone, which filters nothing. */
function Facet({ label, counts, chosen, choose }: FacetProps) {
  if (chosen.length === 0 && Object.keys(counts).length < 2) return null
  return <FacetButtons label={label} counts={counts} chosen={chosen} word={(name) => name} onChange={choose} />
}

async function records(filter: manage.AuditFilter, offset: number) {
  const part = await get<manage.AuditLog>(manage.AUDIT, { ...filter, limit: EXPORTED, offset })
  return { items: part.records, hasMore: part.pagination.has_more }
}
