/** Types and queries of channels. Everything that a crawl of a channel changes is below the key `['channel', id]`. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { every, get } from './client'
import type { components } from './schema'

type Schemas = components['schemas']
export type Channel = Schemas['ChannelView']
export type ChannelList = Schemas['ChannelList']
export type Job = Schemas['CrawlJobView']
export type JobList = Schemas['CrawlJobList']
export type CrawlStatus = Schemas['CrawlStatusView']
export type Statistics = Schemas['ChannelStatisticsView']
export type WebPage = Schemas['WebPageView']
export type WebPageList = Schemas['WebPageList']
export type WebPageDetail = Schemas['WebPageDetail']
export type Media = Schemas['MediaOnPage']
export type MediaList = Schemas['MediaList']
export type MediaDetail = Schemas['MediaDetail']
export type MediaType = Media['mediaType']
export type CrawlSettings = Schemas['CrawlSettingsView']
export type SchedulePreview = Schemas['SchedulePreview']
export type Explanation = Schemas['ExplanationView']
export type Brand = Schemas['BrandView']
export type Webhook = Schemas['WebhookView']
export type WebhookWithSecret = Schemas['WebhookWithSecret']
export type WebhookList = Schemas['WebhookList']
export type DeliveryList = Schemas['DeliveryList']
export type TestResult = Schemas['TestResult']
export type SiteChanges = Schemas['SiteChanges']

export const LIST_LIMIT = 100
export const PAGES_PER_PAGE = 100
export const MEDIA_PER_PAGE = 48

const BUSY_MS = 3000
const IDLE_MS = 10_000

export const CHANNELS = '/tenant/v1/channels'
export const WEBHOOKS = '/tenant/v1/webhooks'

export function channelPath(id: string, part = ''): string {
  return `${CHANNELS}/${encodeURIComponent(id)}${part && `/${part}`}`
}

export interface PageFilter {
  q?: string
  status?: string
  depth?: string
  sort?: string
  order?: string
}

export const channels = (offset: number) =>
  queryOptions({
    queryKey: ['channels', offset],
    queryFn: () => get<ChannelList>(CHANNELS, { limit: LIST_LIMIT, offset }),
    placeholderData: keepPreviousData,
    refetchInterval: 5000,
  })

export const channel = (id: string) =>
  queryOptions({ queryKey: ['channel', id], queryFn: () => get<Channel>(channelPath(id)), refetchInterval: IDLE_MS })

/** The active crawl or the last one. */
export const status = (id: string, isPaused = false) =>
  queryOptions({
    queryKey: ['channel', id, 'status'],
    queryFn: () => get<CrawlStatus>(channelPath(id, 'webcrawl/status')),
    refetchInterval: (query) => (isPaused ? false : query.state.data?.isActive ? BUSY_MS : IDLE_MS),
  })

export const statistics = (id: string) =>
  queryOptions({ queryKey: ['channel', id, 'statistics'], queryFn: () => get<Statistics>(channelPath(id, 'webcrawl/statistics')) })

export const webPages = (id: string, filter: PageFilter, offset: number) =>
  queryOptions({
    queryKey: ['channel', id, 'pages', filter, offset],
    queryFn: () => get<WebPageList>(channelPath(id, 'webcrawl/pages'), { ...filter, limit: PAGES_PER_PAGE, offset }),
    placeholderData: keepPreviousData,
  })

export interface MediaFilter {
  mediaType?: string
  q?: string
  sort?: string
  order?: string
}

export const media = (id: string, filter: MediaFilter, offset: number) =>
  queryOptions({
    queryKey: ['channel', id, 'media', filter, offset],
    queryFn: () => get<MediaList>(channelPath(id, 'webcrawl/media'), { ...filter, limit: MEDIA_PER_PAGE, offset }),
    placeholderData: keepPreviousData,
  })

export const mediaDetail = (id: string, file: string) =>
  queryOptions({
    queryKey: ['channel', id, 'media', 'one', file],
    queryFn: () => get<MediaDetail>(channelPath(id, `webcrawl/media/${encodeURIComponent(file)}`)),
  })

/** All crawls of a channel, newest first. */
export const jobs = (id: string) =>
  queryOptions({
    queryKey: ['channel', id, 'jobs'],
    queryFn: () =>
      every<Job>(async (offset) => {
        const part = await get<JobList>(channelPath(id, 'webcrawl/jobs'), { limit: LIST_LIMIT, offset })
        return { items: part.jobs, hasMore: part.pagination.hasMore }
      }),
  })

export const siteChanges = (site: string, since: string, until: string) =>
  queryOptions({
    queryKey: ['changes', site, since, until],
    queryFn: () => get<SiteChanges>(`/sites/${encodeURIComponent(site)}/changes`, { since, until, limit: 200 }),
  })

/** What a crawl with the current settings of the channel does with a URL. */
export const explanation = (id: string, url: string) =>
  queryOptions({
    queryKey: ['channel', id, 'explain', url],
    queryFn: () => get<Explanation>(channelPath(id, 'webcrawl/explain'), { url }),
    enabled: url !== '',
    retry: false,
    staleTime: 0,
  })

/** The page of a channel with this URL, with its media; null where it has none. */
export const pageOfUrl = (id: string, url: string) =>
  queryOptions({
    queryKey: ['channel', id, 'page-of', url],
    queryFn: async () => {
      const { pages } = await get<WebPageList>(channelPath(id, 'webcrawl/pages'), { q: url.slice(0, 200), sort: 'url', limit: LIST_LIMIT })
      const page = pages.find((each) => each.url === url)
      return page ? get<WebPageDetail>(channelPath(id, `webcrawl/pages/${encodeURIComponent(page.id)}`)) : null
    },
    enabled: id !== '',
  })

/** The channel of a site; undefined where the site has none. */
export const channelOfSite = (site: string) =>
  queryOptions({
    queryKey: ['channels', 'of', site],
    queryFn: async () => (await get<ChannelList>(CHANNELS, { limit: LIST_LIMIT })).channels.find((channel) => channel.site === site) ?? null,
    enabled: site !== '',
    staleTime: 60_000,
  })

export const crawlSettings = queryOptions({
  queryKey: ['crawl-settings'],
  queryFn: () => get<CrawlSettings>('/tenant/v1/crawl-settings'),
})

/** Without a cron line: of the tenant's frequency. */
export const schedulePreview = (cron: string, timeZone: string) =>
  queryOptions({
    queryKey: ['schedule-preview', cron, timeZone],
    queryFn: () => get<SchedulePreview>('/tenant/v1/schedule-preview', { cron, timeZone }),
    placeholderData: keepPreviousData,
    retry: false,
  })

export const brand = queryOptions({ queryKey: ['brand'], queryFn: () => get<Brand>('/tenant/v1/brand') })

export const webhooks = queryOptions({ queryKey: ['webhooks'], queryFn: () => get<WebhookList>(WEBHOOKS) })

export const deliveries = (webhook: string, state: string) =>
  queryOptions({
    queryKey: ['webhooks', webhook, 'deliveries', state],
    queryFn: () => get<DeliveryList>(`${WEBHOOKS}/${encodeURIComponent(webhook)}/deliveries`, { state, limit: 50 }),
    placeholderData: keepPreviousData,
    refetchInterval: 5000,
  })
