/** Sites of all tenants with pages that disappeared at once, and the decision about them. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { post, type HeldPages } from '../api/client'
import * as manage from '../api/manage'
import { Empty, Failure, Loading } from '../parts/frames'
import { texts } from '../texts'
import { Confirmation, DataTable } from './parts'

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
  if (held.error) return <Failure error={held.error} retry={() => void held.refetch()} />
  if (held.data.sites.length === 0) return <Empty title={words.none} hint={words.noneHint} />
  return (
    <Stack>
      <Text>{words.hint}</Text>
      {decide.error && !doomed && <Failure error={decide.error} />}
      <DataTable
        label={texts.manage.tabs.deletions}
        minWidth="52rem"
        columns={[
          { label: words.columns.site },
          { label: words.columns.tenant, width: '14rem' },
          { label: words.columns.pages, width: '7rem', isNumber: true },
          { label: words.columns.decision, width: '17rem' },
        ]}
      >
        {held.data.sites.map((site) => (
          <tr key={`${site.tenantId} ${site.site}`}>
            <th scope="row">{site.site}</th>
            <td>{site.tenantName}</td>
            <td className="number">{site.pages.toLocaleString()}</td>
            <td>
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
            </td>
          </tr>
        ))}
      </DataTable>
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
