/** Times, sizes and URLs as people read them. */
import { Anchor } from '@mantine/core'
import { texts } from '../texts'

export const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** A time in the zone of the reader; the tooltip has it in UTC. */
export function Time({ value }: { value: string | null }) {
  if (!value) return <>{texts.none}</>
  return (
    <time dateTime={value} title={`${value.slice(0, 19).replace('T', ' ')} ${texts.utc}`}>
      {moment.format(new Date(value))}
    </time>
  )
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** The day of a time in the zone of the reader; the tooltip has the time in UTC. */
export function Day({ value }: { value: string | null }) {
  if (!value) return <>{texts.none}</>
  return (
    <time dateTime={value} title={`${value.slice(0, 19).replace('T', ' ')} ${texts.utc}`}>
      {day.format(new Date(value))}
    </time>
  )
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.round(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function between(start: string | null, end: string | null): string {
  if (!start) return texts.none
  return duration((end ? Date.parse(end) : Date.now()) - Date.parse(start))
}

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = count
  let unit = -1
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}

/** A share of 1 in per cent. */
export function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}

/** The readable form of a URL: without scheme, percent-decoded where that is possible. */
export function shownUrl(url: string): string {
  const plain = url.replace(/^https?:\/\//, '')
  try {
    // Bidirectional controls could make one address look like another.
    return decodeURI(plain).replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
  } catch {
    return plain
  }
}

/** The path of a URL, which is what differs within one site. */
export function shownPath(url: string): string {
  const plain = shownUrl(url)
  const slash = plain.indexOf('/')
  return slash < 0 ? plain : plain.slice(slash)
}

/** Whether a link may be followed. Crawled data could hold `javascript:` and the like. */
export function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

/** A link to the crawled site itself. */
export function WebLink({ url, children }: { url: string; children?: React.ReactNode }) {
  if (!isWebAddress(url)) return <>{children ?? url}</>
  return (
    <Anchor href={url} target="_blank" rel="noopener noreferrer nofollow" size="sm">
      {children ?? shownUrl(url)}
    </Anchor>
  )
}
