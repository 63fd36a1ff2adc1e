/** The URL table of a run: facets with counts, text filter, sort and pages, all of it in the address. */
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { address, runPath, type UrlRow } from '../api/client'
import * as queries from '../api/queries'
import { FacetButtons, useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { DownloadLinks } from '../parts/downloads'
import { causeWord, reasonWord, UrlStateLabel, urlWord } from '../parts/states'
import { DataTable, ListBar, Pager, type Column } from '../parts/table'
import { shownUrl, Time } from '../parts/values'
import { texts } from '../texts'

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
  // Both are shown together: facets that came later would push the table down.
  const isLoading = urls.isPending || facets.isPending
  const isFiltered = Boolean(filter.status?.length || filter.skip_reason?.length || filter.error || filter.q)
  const clear = () => change({ status: '', skip_reason: '', error: '', q: '', offset: '' })

  return (
    <Stack gap="sm">
      <ListBar
        label={texts.urls.filter}
        text={filter.q ?? ''}
        setText={(q) => change({ q, offset: '' })}
        range={{ offset, shown: urls.data?.urls.length ?? 0, total: urls.data?.pagination.total ?? 0 }}
        isFiltered={isFiltered}
        clear={clear}
        downloads={
          <DownloadLinks
            label={texts.urls.download}
            formats={['csv', 'json'] as const}
            names={texts.urls}
            href={(format) => address(runPath(run, 'export'), { ...filter, format })}
          />
        }
      >
        {!isLoading && facets.data && (
          <>
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
              word={causeWord}
              onChange={(chosen) => change({ error: chosen.at(-1) ?? '', offset: '' })}
            />
          </>
        )}
      </ListBar>
      {isLoading ? (
        <Loading />
      ) : urls.isLoadingError ? (
        <Failure error={urls.error} retry={() => void urls.refetch()} />
      ) : urls.data.urls.length === 0 ? (
        <Empty title={isFiltered ? texts.urls.none : texts.urls.nothing}>{!isFiltered && isActive && <Loading height="3rem" />}</Empty>
      ) : (
        <>
          <DataTable
            label={texts.urls.label}
            columns={columns(inspect)}
            rows={urls.data.urls}
            keyOf={(row) => row.id}
            minWidth="62rem"
            sort={sort}
            isDescending={order === 'desc'}
            onSort={(by) => change({ sort: by, order: sort === by && order === 'asc' ? 'desc' : '', offset: '' })}
          />
          <Pager
            offset={offset}
            size={queries.URLS_PER_PAGE}
            hasMore={urls.data.pagination.has_more}
            onChange={(to) => change({ offset: to })}
          />
        </>
      )}
    </Stack>
  )
}

function columns(inspect: (url: string) => void): Column<UrlRow>[] {
  const words = texts.urls.columns
  return [
    {
      id: 'url',
      label: words.url,
      sort: 'normalized_url',
      cell: (row) => (
        <button type="button" className="link-button one-line" title={row.url} onClick={() => inspect(row.url)}>
          {shownUrl(row.url)}
        </button>
      ),
    },
    {
      id: 'title',
      label: words.title,
      sort: 'title',
      cell: (row) => (
        <span className="one-line" title={row.title}>
          {row.title}
        </span>
      ),
    },
    { id: 'status', label: words.status, width: '10.5rem', cell: (row) => <State row={row} /> },
    { id: 'code', label: words.code, width: '4.2rem', isNumber: true, cell: (row) => row.status_code },
    { id: 'depth', label: words.depth, sort: 'depth', width: '5.8rem', isNumber: true, cell: (row) => row.depth },
    {
      id: 'words',
      label: words.words,
      width: '5.2rem',
      isNumber: true,
      cell: (row) => (row.word_count ? row.word_count.toLocaleString() : ''),
    },
    {
      id: 'visited',
      label: words.visited,
      sort: 'visited_at',
      width: '11.8rem',
      cell: (row) => row.visited_at && <Time value={row.visited_at} />,
    },
  ]
}

function State({ row }: { row: UrlRow }) {
  return (
    <>
      <UrlStateLabel state={row.status} />
      {row.skip_reason && (
        <Text size="xs" c="dimmed" className="one-line" title={reasonWord(row.skip_reason)}>
          {reasonWord(row.skip_reason)}
        </Text>
      )}
    </>
  )
}
