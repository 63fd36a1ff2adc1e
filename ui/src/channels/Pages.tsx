/** The pages of a channel over all its crawls, with filters, sort and parts of the list in the address. */
import { Anchor, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import * as api from '../api/channels'
import type { Channel, WebPage } from '../api/channels'
import { address, every, get, remove } from '../api/client'
import { DownloadButtons } from '../parts/downloads'
import { FacetButtons, useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { StateLabel, type Tone } from '../parts/states'
import { DataTable, ListBar, Pager, type Column } from '../parts/table'
import { Day, shownPath, shownUrl } from '../parts/values'
import { texts } from '../texts'

const TONES: Record<WebPage['status'], Tone> = { ACTIVE: 'good', FAILED: 'bad', DELETED: 'plain' }

export function PagesTab({ channel, isActive }: { channel: Channel; isActive: boolean }) {
  const [parameters, change] = useAddressState()
  const [deleting, setDeleting] = useState<WebPage>()
  const filter: api.PageFilter = {
    q: parameters.get('q') ?? '',
    status: parameters.get('status') ?? '',
    depth: parameters.get('depth') ?? '',
    sort: parameters.get('sort') ?? 'depth',
    order: parameters.get('order') ?? 'asc',
  }
  const offset = Math.max(0, Number(parameters.get('offset')) || 0)
  const pages = useQuery(api.webPages(channel.id, filter, offset))
  const isFiltered = Boolean(filter.q || filter.status || filter.depth)
  const clear = () => change({ q: '', status: '', depth: '', offset: '' })

  if (pages.isPending) return <Loading />
  if (pages.isLoadingError) return <Failure error={pages.error} retry={() => void pages.refetch()} />
  const { facets, pagination } = pages.data
  return (
    <Stack gap="sm">
      <ListBar
        label={texts.urls.filter}
        text={filter.q ?? ''}
        setText={(q) => change({ q, offset: '' })}
        range={{ offset, shown: pages.data.pages.length, total: pagination.total }}
        isFiltered={isFiltered}
        clear={clear}
        downloads={<DownloadButtons name={`${channel.site}-pages`} load={() => allPages(channel.id, filter)} />}
      >
        <FacetButtons
          label={texts.webPages.state}
          counts={facets.status}
          chosen={filter.status ? [filter.status] : []}
          word={(name) => texts.webPages.states[name as WebPage['status']] ?? name}
          onChange={(chosen) => change({ status: chosen.at(-1) ?? '', offset: '' })}
        />
        <FacetButtons
          label={texts.webPages.depth}
          counts={facets.depth}
          isOrdered
          chosen={filter.depth ? [filter.depth] : []}
          word={(name) => name}
          onChange={(chosen) => change({ depth: chosen.at(-1) ?? '', offset: '' })}
        />
      </ListBar>
      {pages.data.pages.length === 0 ? (
        <Empty title={isFiltered ? texts.webPages.none : texts.webPages.nothing}>{!isFiltered && isActive && <Loading height="3rem" />}</Empty>
      ) : (
        <>
          <DataTable
            label={texts.webPages.label}
            columns={columns(setDeleting)}
            rows={pages.data.pages}
            keyOf={(page) => page.id}
            minWidth="62rem"
            sort={filter.sort}
            isDescending={filter.order === 'desc'}
            onSort={(by) => change({ sort: by, order: filter.sort === by && filter.order === 'asc' ? 'desc' : '', offset: '' })}
          />
          <Pager
            offset={offset}
            size={api.PAGES_PER_PAGE}
            hasMore={pagination.hasMore}
            onChange={(to) => change({ offset: to })}
          />
        </>
      )}
      <DeletePage channel={channel.id} page={deleting} close={() => setDeleting(undefined)} />
    </Stack>
  )
}

function allPages(channel: string, filter: api.PageFilter) {
  return every(async (offset) => {
    const path = api.channelPath(channel, 'webcrawl/pages')
    const part = await get<api.WebPageList>(path, { ...filter, limit: api.LIST_LIMIT, offset })
    return { items: part.pages, hasMore: part.pagination.hasMore }
  })
}

function columns(chooseToDelete: (page: WebPage) => void): Column<WebPage>[] {
  const words = texts.webPages.columns
  return [
    {
      id: 'url',
      label: words.url,
      sort: 'url',
      width: '20%',
      isHeader: true,
      cell: (page) =>
        page.crawlJobId ? (
          <Anchor component={Link} href={address(`/runs/${page.crawlJobId}/page`, { url: page.url })} size="sm" className="one-line" title={page.url}>
            {shownPath(page.url)}
          </Anchor>
        ) : (
          <span className="one-line" title={page.url}>
            {shownPath(page.url)}
          </span>
        ),
    },
    {
      id: 'title',
      label: words.title,
      sort: 'title',
      cell: (page) => (
        <span className="one-line" title={page.title}>
          {page.title}
        </span>
      ),
    },
    {
      id: 'status',
      label: words.status,
      width: '6.4rem',
      cell: (page) => <StateLabel tone={TONES[page.status]} word={texts.webPages.states[page.status]} />,
    },
    { id: 'http', label: words.http, sort: 'httpStatus', width: '5.5rem', isNumber: true, cell: (page) => page.httpStatus },
    { id: 'depth', label: words.depth, sort: 'depth', width: '5.8rem', isNumber: true, cell: (page) => page.depth },
    {
      id: 'words',
      label: words.words,
      sort: 'wordCount',
      width: '6.2rem',
      isNumber: true,
      cell: (page) => (page.wordCount ? page.wordCount.toLocaleString() : ''),
    },
    { id: 'read', label: words.read, sort: 'lastCrawledAt', width: '7.8rem', cell: (page) => <Day value={page.lastCrawledAt} /> },
    {
      id: 'changed',
      label: words.changed,
      sort: 'lastChangedAt',
      width: '8.6rem',
      cell: (page) => <Day value={page.lastChangedAt} />,
    },
    {
      id: 'delete',
      label: words.actions,
      width: '4.8rem',
      cell: (page) => (
        <button
          type="button"
          className="link-button"
          aria-label={texts.webPages.deleteOne(shownPath(page.url))}
          onClick={() => chooseToDelete(page)}
        >
          {texts.webPages.delete}
        </button>
      ),
    },
  ]
}

function DeletePage({ channel, page, close }: { channel: string; page: WebPage | undefined; close: () => void }) {
  const client = useQueryClient()
  const act = useMutation({
    mutationFn: (id: string) => remove(api.channelPath(channel, `webcrawl/pages/${encodeURIComponent(id)}`)),
    onSuccess: async () => {
      close()
      await client.invalidateQueries({ queryKey: ['channel', channel] })
    },
  })
  return (
    <Modal
      opened={page !== undefined}
      onClose={close}
      title={texts.webPages.deleteTitle}
      centered
      closeButtonProps={{ 'aria-label': texts.node.close }}
    >
      <Stack>
        <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
          {page && shownUrl(page.url)}
        </Text>
        <Text>{texts.webPages.deleteText}</Text>
        {act.error && <Failure error={act.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            {texts.webPages.keep}
          </Button>
          <Button color="red.9" loading={act.isPending} onClick={() => page && act.mutate(page.id)}>
            {texts.webPages.delete}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
