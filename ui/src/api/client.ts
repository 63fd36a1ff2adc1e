/** Requests to the API: same origin, session cookie, CSRF token, and problems (RFC 9457) as errors. */
import type { components } from './schema'

type Schemas = components['schemas']
export type Run = Schemas['RunView']
export type Summary = Schemas['RunSummary']
export type Counts = Schemas['RunNumbers']
export type RunList = Schemas['RunList']
export type UrlRow = Schemas['UrlView']
export type UrlList = Schemas['UrlList']
export type Facets = Schemas['UrlFacetsView']
export type LineageColumns = Schemas['LineageView']
export type Page = Schemas['PageView']
export type PageLinks = Schemas['PageLinks']
export type Explanation = Schemas['ExplanationView']
export type SearchResults = Schemas['SearchResults']
export type Hit = Schemas['HitView']
export type Site = Schemas['SiteView']
export type SiteList = Schemas['SiteList']
export type HeldPages = Schemas['HeldPages']
export type Session = Schemas['SessionView']
export type Audit = Schemas['AuditView']
export type Audits = Schemas['AuditList']
export type Rule = Schemas['RuleView']
export type Rules = Schemas['RuleList']
export type AuditSettings = Schemas['AuditOptions']
export type Issue = Schemas['IssueView']
export type Issues = Schemas['IssueList']
export type Finding = Schemas['FindingView']
export type Findings = Schemas['FindingList']
export type Fix = Schemas['FixProposalView']
export type Insights = Schemas['InsightsView']
export type Severity = Finding['severity']
export type Versions = Schemas['VersionList']
export type VersionDiff = Schemas['VersionDiff']
export type DiffLine = Schemas['DiffLineView']
export type Chunks = Schemas['ChunkList']
export type Neighbours = Schemas['NeighboursView']
export type Aliases = Schemas['AliasList']
export type Hosts = Schemas['HostList']
export type Events = Schemas['EventList']
export type UrlState = UrlRow['status']
export type RunState = Run['status']
type Problem = Schemas['Problem']

/** An error response. `status` is 0 when the server could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem | null,
  ) {
    super(problem?.detail || problem?.errors?.[0]?.detail || problem?.title || `HTTP ${status}`)
  }

  get code(): string {
    return this.problem?.type.split(':').at(-1) ?? ''
  }
}

let csrfToken = ''

export function keepSession(session: Session): Session {
  csrfToken = session.csrf_token
  return session
}

export type Parameters = Record<string, string | number | boolean | readonly string[] | undefined>

export function address(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (Array.isArray(value)) value.forEach((each) => query.append(name, each))
    else if (value !== undefined && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text ? `${path}?${text}` : path
}

export function runPath(run: string, part = ''): string {
  return `/crawl-runs/${encodeURIComponent(run)}${part && `/${part}`}`
}

export function sitePath(site: string, part = ''): string {
  return `/sites/${encodeURIComponent(site)}${part && `/${part}`}`
}

async function send(method: string, url: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, {
      method,
      credentials: 'same-origin',
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(method === 'GET' ? {} : { 'X-CSRF-Token': csrfToken }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  } catch {
    throw new ApiError(0, null)
  }
  if (response.ok) return response
  const problem = await response.json().catch(() => null)
  throw new ApiError(response.status, problem as Problem | null)
}

export async function get<T>(path: string, parameters?: Parameters): Promise<T> {
  return (await send('GET', address(path, parameters))).json() as Promise<T>
}

/** Everything that a listing gives, part by part. */
export async function every<Item>(load: (offset: number) => Promise<{ items: readonly Item[]; hasMore: boolean }>): Promise<Item[]> {
  const items: Item[] = []
  for (;;) {
    const part = await load(items.length)
    items.push(...part.items)
    if (!part.hasMore || part.items.length === 0) return items
  }
}

export async function getText(path: string, parameters?: Parameters): Promise<string> {
  return (await send('GET', address(path, parameters))).text()
}

export async function post<T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  return (await send('POST', path, body, headers)).json() as Promise<T>
}

export async function put<T>(path: string, body: unknown): Promise<T> {
  return (await send('PUT', path, body)).json() as Promise<T>
}

export async function patch<T>(path: string, body: unknown): Promise<T> {
  return (await send('PATCH', path, body)).json() as Promise<T>
}

/** Deletes something. What the server answers with, where it does. */
export async function remove<T = void>(path: string): Promise<T> {
  const response = await send('DELETE', path)
  return (response.status === 204 ? undefined : await response.json()) as T
}

export async function signIn(token: string): Promise<Session> {
  return keepSession(await post<Session>('/session', undefined, { Authorization: `Bearer ${token}` }))
}

export async function signInWithCode(code: string): Promise<Session> {
  return keepSession(await post<Session>('/session/code', { code }))
}

export async function signOut(): Promise<void> {
  await send('DELETE', '/session')
}
