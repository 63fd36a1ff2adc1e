/** Types, queries and paths of the account of a tenant and of the operator's portal. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { every, get } from './client'
import type { components } from './schema'

type Schemas = components['schemas']
export type Tenant = Schemas['TenantView']
export type TenantCreated = Schemas['TenantCreated']
export type CrawlSettings = Schemas['CrawlSettingsView']
export type SchedulePreview = Schemas['SchedulePreview']
export type Queues = Schemas['QueuesView']
export type HeldSite = Schemas['HeldSiteView']
export type DeadLetters = Schemas['DeadLettersView']
export type Backup = Schemas['BackupView']
export type Token = Schemas['TokenView']
export type TokenCreated = Schemas['TokenCreated']
export type TokenScope = Token['scopes'][number]
export type TokenKind = Token['kind']
export type User = Schemas['UserView']
export type Role = User['role']
export type AuditRecord = Schemas['AuditRecordView']
export type AuditLog = Schemas['AuditLogPage']
export type AuditCheck = Schemas['AuditCheckView']
export type Plan = CrawlSettings['plan']
export type Frequency = CrawlSettings['websiteCrawlFrequency']

export const TENANTS = '/manage/v1/tenants'
export const TOKENS = '/tenant/v1/tokens'
export const USERS = '/tenant/v1/users'
export const AUDIT = '/tenant/v1/audit'
export const PER_PAGE = 25
/** The tenant of the operator. */
export const DEFAULT_TENANT = '1'
/** What one request lists at most. */
const CHOICES = 100

export function tenantPath(id: string, part = ''): string {
  return `${TENANTS}/${encodeURIComponent(id)}${part && `/${part}`}`
}

export const tenants = queryOptions({
  queryKey: ['tenants', 'list'],
  queryFn: () =>
    every<Tenant>(async (offset) => {
      const part = await get<Schemas['TenantList']>(TENANTS, { limit: CHOICES, offset })
      return { items: part.tenants, hasMore: part.pagination.has_more }
    }),
})

export const tenant = (id: string) => queryOptions({ queryKey: ['tenants', id], queryFn: () => get<Tenant>(tenantPath(id)) })

export const crawlSettings = (id: string) =>
  queryOptions({
    queryKey: ['tenants', id, 'crawl-settings'],
    queryFn: () => get<CrawlSettings>(tenantPath(id, 'crawl-settings')),
  })

const CRON_LINES: Partial<Record<Frequency, string>> = { WEEKLY: '0 0 * * 0', MONTHLY: '0 0 1 * *' }

/** The next times of a frequency that may not be saved yet. */
export const preview = (frequency: Frequency, timeZone: string) =>
  queryOptions({
    queryKey: ['schedule-preview', frequency, timeZone],
    queryFn: () => get<SchedulePreview>('/tenant/v1/schedule-preview', { cron: CRON_LINES[frequency], timeZone }),
    enabled: frequency in CRON_LINES,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })

export const queues = queryOptions({
  queryKey: ['queues'],
  queryFn: () => get<Queues>('/manage/v1/queues'),
  refetchInterval: 3000,
})

export const heldSites = queryOptions({
  queryKey: ['held-sites'],
  queryFn: () => get<Schemas['HeldSiteList']>('/manage/v1/deletions'),
})

export const deadLetters = queryOptions({
  queryKey: ['dead-letters'],
  queryFn: () => get<Schemas['DeadLetterList']>('/manage/v1/dead-letters'),
})

export const backups = queryOptions({
  queryKey: ['backups'],
  queryFn: () => get<Schemas['BackupList']>('/manage/v1/backups'),
})

export const tokens = queryOptions({
  queryKey: ['tokens'],
  queryFn: () =>
    every<Token>(async (offset) => {
      const part = await get<Schemas['TokenList']>(TOKENS, { limit: CHOICES, offset })
      return { items: part.tokens, hasMore: part.pagination.has_more }
    }),
})

export const users = queryOptions({
  queryKey: ['users'],
  queryFn: () =>
    every<User>(async (offset) => {
      const part = await get<Schemas['UserList']>(USERS, { limit: CHOICES, offset })
      return { items: part.users, hasMore: part.pagination.has_more }
    }),
})

export const channelChoices = queryOptions({
  queryKey: ['channels', 'choices'],
  queryFn: () => get<Schemas['ChannelList']>('/tenant/v1/channels', { limit: CHOICES }),
})

/** A type and not an interface, so that it is taken for parameters of a request. */
export type AuditFilter = { q: string; action: readonly string[]; actor: readonly string[]; sort: string; order: string }

export const audit = (filter: AuditFilter, offset: number) =>
  queryOptions({
    queryKey: ['audit', filter, offset],
    queryFn: () => get<Schemas['AuditLogPage']>(AUDIT, { ...filter, limit: PER_PAGE, offset }),
    placeholderData: keepPreviousData,
  })
