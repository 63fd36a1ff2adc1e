/** Queries of the API. Everything that changes while a run is crawled is below the key `['lists', run]`. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import * as api from './client'

export const RUNS_PER_PAGE = 25
export const URLS_PER_PAGE = 200

export interface UrlFilter {
  status?: readonly string[]
  skip_reason?: readonly string[]
  error?: string
  q?: string
}

export const session = queryOptions({
  queryKey: ['session'],
  queryFn: async () => api.keepSession(await api.get<api.Session>('/session')),
  retry: false,
  staleTime: Infinity,
})

export interface RunFilter {
  status?: string
  q?: string
  sort?: string
  order?: string
}

export const runs = (filter: RunFilter, offset: number) =>
  queryOptions({
    queryKey: ['runs', filter, offset],
    queryFn: () => api.get<api.RunList>('/crawl-runs', { ...filter, limit: RUNS_PER_PAGE, offset }),
    placeholderData: keepPreviousData,
    refetchInterval: 5000,
  })

export const runningRuns = queryOptions({
  queryKey: ['runs', 'RUNNING', 'count'],
  queryFn: () => api.get<api.RunList>('/crawl-runs', { status: 'RUNNING', limit: 1 }),
  refetchInterval: 5000,
})

/** The newest run that read a page or found it unchanged. */
export const runWithPage = (site: string, url: string) =>
  queryOptions({
    queryKey: ['runs', 'with-page', site, url],
    queryFn: () => api.get<api.RunList>('/crawl-runs', { site, url, limit: 1 }),
    enabled: url !== '',
  })

export const summary = (run: string) =>
  queryOptions({ queryKey: ['summary', run], queryFn: () => api.get<api.Summary>(api.runPath(run, 'summary')) })

export const urls = (run: string, filter: UrlFilter, sort: string, order: string, offset: number, limit = URLS_PER_PAGE) =>
  queryOptions({
    queryKey: ['lists', run, 'urls', filter, sort, order, offset, limit],
    queryFn: () => api.get<api.UrlList>(api.runPath(run, 'urls'), { ...filter, sort, order, offset, limit }),
    placeholderData: keepPreviousData,
  })

export const facets = (run: string, filter: UrlFilter) =>
  queryOptions({
    queryKey: ['lists', run, 'facets', filter],
    queryFn: () => api.get<api.Facets>(api.runPath(run, 'facets'), { ...filter }),
    placeholderData: keepPreviousData,
  })

/** Not below `lists`: the lineage refreshes at an interval of its own. */
export const lineage = (run: string, limit: number, refetchInterval: number | false) =>
  queryOptions({
    queryKey: ['lineage', run, limit],
    queryFn: () => api.get<api.LineageColumns>(api.runPath(run, 'lineage'), { limit }),
    placeholderData: keepPreviousData,
    // Comparing 50,000 rows with those before would take longer than using them.
    structuralSharing: false,
    refetchInterval,
  })

export const page = (run: string, url: string) =>
  queryOptions({ queryKey: ['page', run, url], queryFn: () => api.get<api.Page>(api.runPath(run, 'page'), { url }) })

export const source = (run: string, url: string) =>
  queryOptions({ queryKey: ['source', run, url], queryFn: () => api.getText(api.runPath(run, 'source'), { url }) })

export const links = (run: string, url: string) =>
  queryOptions({ queryKey: ['links', run, url], queryFn: () => api.get<api.PageLinks>(api.runPath(run, 'links'), { url }) })

export const explanation = (run: string, url: string) =>
  queryOptions({
    queryKey: ['lists', run, 'explain', url],
    queryFn: () => api.get<api.Explanation>(api.runPath(run, 'explain'), { url }),
  })

export const search = (q: string, site: string) =>
  queryOptions({
    queryKey: ['search', q, site],
    queryFn: () => api.get<api.SearchResults>('/search', { q, site: site ? [site] : undefined, limit: 20 }),
    enabled: q !== '',
    placeholderData: keepPreviousData,
  })

export const sites = queryOptions({
  queryKey: ['sites'],
  queryFn: () => api.get<api.SiteList>('/sites'),
  refetchInterval: 10_000,
})

export interface FindingFilter {
  status?: readonly string[]
  new?: boolean
  q?: string
}

export const AUDITS = 50
export const FINDINGS_PER_PAGE = 20

const isUnfinished = (audit: api.Audit) => audit.state === 'waiting' || audit.state === 'running'

/** Requested every second while an audit goes on. */
export const audits = (site: string) =>
  queryOptions({
    queryKey: ['audit', site, 'audits'],
    queryFn: () => api.get<api.Audits>(api.sitePath(site, 'audits'), { limit: AUDITS }),
    refetchInterval: (query) => (query.state.data?.audits.some(isUnfinished) ? 1000 : false),
  })

export const rules = (site: string) =>
  queryOptions({ queryKey: ['audit', site, 'rules'], queryFn: () => api.get<api.Rules>(api.sitePath(site, 'rules')) })

export const auditSettings = (site: string) =>
  queryOptions({ queryKey: ['audit', site, 'settings'], queryFn: () => api.get<api.AuditSettings>(api.sitePath(site, 'audit-settings')) })

export const issues = (site: string, filter: FindingFilter) =>
  queryOptions({
    queryKey: ['audit', site, 'issues', filter],
    queryFn: () => api.get<api.Issues>(api.sitePath(site, 'issues'), { ...filter }),
    placeholderData: keepPreviousData,
  })

export const findings = (site: string, filter: FindingFilter & { rule?: string; page?: string }, offset: number) =>
  queryOptions({
    queryKey: ['audit', site, 'findings', filter, offset],
    queryFn: () => api.get<api.Findings>(api.sitePath(site, 'findings'), { ...filter, offset, limit: FINDINGS_PER_PAGE }),
    placeholderData: keepPreviousData,
  })

export const fix = (site: string, finding: string) =>
  queryOptions({
    queryKey: ['audit', site, 'fix', finding],
    queryFn: () => api.get<api.Fix>(api.sitePath(site, `findings/${finding}/fix`)),
    staleTime: Infinity,
  })

export const insights = (site: string, run: string) =>
  queryOptions({
    queryKey: ['audit', site, 'insights', run],
    queryFn: () => api.get<api.Insights>(api.sitePath(site, 'insights'), { run }),
  })

const ofPage = <T,>(part: string) => (run: string, url: string) =>
  queryOptions({ queryKey: [part, run, url], queryFn: () => api.get<T>(api.runPath(run, part), { url }) })

export const versions = ofPage<api.Versions>('versions')
export const chunks = ofPage<api.Chunks>('chunks')
export const neighbours = ofPage<api.Neighbours>('neighbours')
export const aliases = ofPage<api.Aliases>('aliases')

export const diff = (run: string, url: string, version: number) =>
  queryOptions({
    queryKey: ['diff', run, url, version],
    queryFn: () => api.get<api.VersionDiff>(api.runPath(run, 'diff'), { url, version }),
    placeholderData: keepPreviousData,
  })

export const hosts = (run: string) =>
  queryOptions({ queryKey: ['lists', run, 'hosts'], queryFn: () => api.get<api.Hosts>(api.runPath(run, 'hosts')) })

export const EVENTS_PER_PART = 1000

/** The first `most` events of a run, and whether there are more. */
export const events = (run: string, most: number) =>
  queryOptions({
    queryKey: ['lists', run, 'log', most],
    queryFn: async () => {
      const listed: api.Events['events'][number][] = []
      for (;;) {
        const part = await api.get<api.Events>(api.runPath(run, 'log'), { after: listed.at(-1)?.id ?? 0, limit: EVENTS_PER_PART })
        listed.push(...part.events)
        if (!part.has_more || listed.length >= most) return { events: listed, has_more: part.has_more }
      }
    },
    placeholderData: keepPreviousData,
  })
