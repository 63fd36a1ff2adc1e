/** The evidence of a finding: its values, and the pages and links that it names. */
import type { ReactNode } from 'react'
import { Facts } from '../parts/frames'
import { isWebAddress, shownUrl, WebLink } from '../parts/values'
import { UrlLink } from '../screens/Node'
import { texts } from '../texts'

type Value = unknown

function isEmpty(value: Value): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

function label(name: string): string {
  const word = name.replaceAll('_', ' ')
  return texts.issues.evidence[name] ?? word.charAt(0).toUpperCase() + word.slice(1)
}

export function Evidence({ run, evidence }: { run: string; evidence: Record<string, Value> }) {
  const items = Object.entries(evidence).filter(([, value]) => !isEmpty(value))
  if (items.length === 0) return null
  return <Facts items={items.map(([name, value]) => [label(name), <Shown key={name} run={run} value={value} />] as const)} />
}

function Shown({ run, value }: { run: string; value: Value }): ReactNode {
  if (Array.isArray(value)) {
    return (
      <ul className="plain-list">
        {value.map((each, index) => (
          <li key={index}>
            <Shown run={run} value={each} />
          </li>
        ))}
      </ul>
    )
  }
  if (typeof value === 'string') return isWebAddress(value) ? <AnyLink run={run} url={value} /> : value
  if (typeof value === 'number') return value.toLocaleString()
  if (typeof value === 'boolean') return value ? texts.yes : texts.no
  if (value !== null && typeof value === 'object') {
    const { page, text, ...rest } = value as Record<string, Value>
    const others = Object.entries(rest).filter(([name, each]) => !isEmpty(each) && name !== 'position')
    return (
      <>
        {typeof page === 'string' && <UrlLink run={run} url={page} />}
        {typeof text === 'string' && text !== '' && <> “{text}”</>}
        {others.length > 0 && ` ${others.map(([name, each]) => `${name.replaceAll('_', ' ')} ${typeof each === 'string' ? shownUrl(each) : JSON.stringify(each)}`).join(', ')}`}
      </>
    )
  }
  return String(value)
}

/** A link to the page as it was read, and one to the web: a broken target is no page of the run. */
function AnyLink({ run, url }: { run: string; url: string }) {
  return run ? <UrlLink run={run} url={url} /> : <WebLink url={url} />
}
