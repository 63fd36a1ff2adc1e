/** The insights of a run, as `audit/insights` of the server makes them. A list may lack items; `more` says how many. */

type More = { more?: Record<string, number> }
export type Counts = Record<string, number>

export interface DuplicateSets extends More {
  sets: { primary: string; pages: string[]; similarity: number; more?: Record<string, number> }[]
}

export interface Figures {
  run_honesty: {
    discovered: number
    read: number
    unchanged: number
    merged: number
    skipped: Counts
    failed: Counts
    unfinished: number
    is_complete: boolean
  }
  movement:
    | ({ new: string[]; gone: string[]; same: number; moved: [string, string, number][]; changed: [string, number][]; buckets: Counts } & More)
    | null
  internal_rank: { pages: number; histogram: number[]; top: { url: string; rank: number; scaled: number }[]; sections: Counts } & More
  rank_sinks: { shares: Counts; pages: [string, string, number][] } & More
  starved_pages: { pages: { url: string; rank: number; words: number; in_sitemap: boolean; suggestions: string[] }[] } & More
  click_depth: Record<string, Counts>
  orphans: { is_confirmed: boolean; reasons: Counts; pages: [string, string][] } & More
  exact_duplicates: DuplicateSets
  near_duplicates: DuplicateSets
  thin_pages: { folders: { folder: string; pages: number; median: number; has_norm: boolean; thin: [string, number][] }[] } & More
  decay: { ages: Counts; shrunk: [string, number, number][]; queue: [string, number][] } & More
  hreflang: { pages: { page: string; cells: Record<string, string> }[] } & More
  structured_data: { pages: Counts; types: Record<string, Counts>; broken: number }
  link_health: { links: number; broken_targets: [string, string, number][]; chains: Counts; external_hosts: [string, number, number][] } & More
  machine_readiness: {
    pages: number
    readable_without_scripts: number
    html_tokens: number
    text_tokens: number
    refused_by_robots: number
    noindex: number
    llms_txt: string
  }
  topics?: { sections: { section: string; pages: number; phrases: [string, number][] }[] }
  chunk_clusters?: { clustered: number; chunks: number; clusters: { label: string; chunks: number; pages: number; examples: string[] }[] } | null
  unanswered_queries?: {
    searches: number
    queries: number
    unanswered: { query: string; searches: number; without_results: number; weak: number }[]
  } | null
}

/** The number of items of a list, with those that were not stored. */
export function total(part: More, name: string, stored: readonly unknown[]): number {
  return stored.length + (part.more?.[name] ?? 0)
}

export function sum(counts: Counts): number {
  return Object.values(counts).reduce((before, count) => before + count, 0)
}
