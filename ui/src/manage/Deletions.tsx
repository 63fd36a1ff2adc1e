/** Sites of all tenants with pages that disappeared at once, and the decision about them. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { post, type HeldPages } from '../api/client'
import * as manage from '../api/manage'
import { Empty, Failure, Loading } from '../parts/frames'
import { LocalTable, type LocalColumn } from '../parts/table'
import { texts } from '../texts'
import { Confirmation } from './parts'

const words = texts.manage.deletions

export function DeletionsTab() {
  const client = useQueryClient()
  const held = useQuery(manage.heldSites)
  const [doomed, setDoomed] = useState<manage.HeldSite>()
  const decide = useMutation({
    mutationFn: ({ site, agree }: { site: manage.HeldSite; agree: boolean }) =>
      post<HeldPages>(manage.tenantPath(site.tenantId, 'deletions'), { site: site.site, agree }),
    onSuccess: () => setDoomed(undefined),
    onSettled: () => Promise.all(['held-sites', 'sites'].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  })
  if (held.isPending) return <Loading />
  if (held.isLoadingError) return <Failure error={held.error} retry={() => void held.refetch()} />
  if (held.data.sites.length === 0) return <Empty title={words.none} hint={words.noneHint} />
  const columns: LocalColumn<manage.HeldSite>[] = [
    { id: 'site', label: words.columns.site, isHeader: true, value: (site) => site.site, cell: (site) => site.site },
    { id: 'tenant', label: words.columns.tenant, width: '14rem', value: (site) => site.tenantName, facet: (name) => name, cell: (site) => site.tenantName },
    { id: 'pages', label: words.columns.pages, width: '7rem', isNumber: true, value: (site) => site.pages, cell: (site) => site.pages.toLocaleString() },
    {
      id: 'decision',
      label: words.columns.decision,
      width: '17rem',
      cell: (site) => (
        <Group gap="xs">
          <Button size="xs" variant="default" loading={decide.isPending} onClick={() => decide.mutate({ site, agree: false })}>
            {texts.sites.keep}
          </Button>
          <Button
            size="xs"
            color="red.9"
            onClick={() => {
              decide.reset()
              setDoomed(site)
            }}
          >
            {words.delete}
          </Button>
        </Group>
      ),
    },
  ]
  return (
    <Stack>
      <Text>{words.hint}</Text>
      {decide.error && !doomed && <Failure error={decide.error} />}
      <LocalTable
        label={texts.manage.tabs.deletions}
        name="held-deletions"
        minWidth="52rem"
        columns={columns}
        rows={held.data.sites}
        keyOf={(site) => `${site.tenantId} ${site.site}`}
      />
      {doomed && (
        <Confirmation
          title={words.question(doomed.pages, doomed.site)}
          text={words.consequence}
          action={words.delete}
          isBusy={decide.isPending}
          error={decide.error}
          onConfirm={() => decide.mutate({ site: doomed, agree: true })}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </Stack>
  )
}
