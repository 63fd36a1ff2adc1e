/** A page by its site and URL, as search results name it: leads to the newest run that has the page. */
import { useQuery } from '@tanstack/react-query'
import { Redirect, useSearchParams } from 'wouter'
import { address, ApiError } from '../api/client'
import * as queries from '../api/queries'
import { Failure, Loading, Missing } from '../parts/frames'
import { texts } from '../texts'

export function NewestPage() {
  const [parameters] = useSearchParams()
  const { site = '', url = '', ...rest } = Object.fromEntries(parameters)
  const runs = useQuery(queries.runWithPage(site, url))
  const isInvalid = url === '' || (runs.error instanceof ApiError && runs.error.status === 422)
  if (runs.isLoadingError && !isInvalid) return <Failure error={runs.error} retry={() => void runs.refetch()} />
  if (runs.isPending && !isInvalid) return <Loading />
  const run = runs.data?.runs[0]
  if (run) return <Redirect to={address(`/runs/${run.id}/page`, { url, ...rest })} replace />
  return <Missing title={texts.search.gone} hint={texts.search.goneHint} href="/search" label={texts.search.back} />
}
