/** States of runs and URLs: a word, an icon and a colour, so that none of the three is needed. */
import type { Counts, RunState, Severity, UrlState } from '../api/client'
import { texts } from '../texts'
import { Arrow, Check, Clock, Cross, Dash, Play, Warning } from './icons'

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain' | 'other'

const runTones: Record<RunState, Tone> = {
  QUEUED: 'plain',
  RUNNING: 'busy',
  COMPLETED: 'good',
  FAILED: 'bad',
  CANCELLED: 'plain',
  INTERRUPTED: 'warn',
}

const urlTones: Record<UrlState, Tone> = {
  DISCOVERED: 'plain',
  QUEUED: 'plain',
  IN_PROGRESS: 'busy',
  VISITED: 'good',
  NOT_MODIFIED: 'good',
  REDIRECT_301: 'other',
  REDIRECT_302: 'other',
  REDIRECT_303: 'other',
  REDIRECT_307: 'other',
  REDIRECT_308: 'other',
  ALIAS: 'other',
  FORBIDDEN: 'bad',
  NOT_FOUND: 'bad',
  SOFT_404: 'bad',
  HTTP_TERMINAL: 'bad',
  FAILED: 'bad',
  SKIPPED: 'warn',
}

const icons = { good: Check, busy: Play, warn: Dash, bad: Cross, plain: Clock, other: Arrow }

/** States that mean that a URL was requested and could not be read. */
export const ERROR_STATES: readonly UrlState[] = ['FAILED', 'HTTP_TERMINAL', 'NOT_FOUND', 'SOFT_404', 'FORBIDDEN']

/** How many URLs of a run could not be read. */
export function errorCount(counts: Counts | undefined): number {
  if (!counts) return 0
  return ERROR_STATES.reduce((sum, state) => sum + (counts.by_status[state] ?? 0), 0)
}

export function urlTone(state: UrlState): Tone {
  return urlTones[state]
}

export function urlWord(state: string): string {
  return texts.urlState[state as UrlState] ?? state
}

export function reasonWord(reason: string): string {
  return texts.skipReason[reason] ?? reason
}

/** The words for the code of a cause of error. */
export function causeWord(code: string): string {
  return texts.causes[code] ?? code.replaceAll('_', ' ')
}

export function StateLabel({ tone, word }: { tone: Tone; word: string }) {
  const Icon = icons[tone]
  return (
    <span className={`tone tone-${tone}`}>
      <Icon size={13} />
      {word}
    </span>
  )
}

export function RunStateLabel({ state }: { state: RunState }) {
  return <StateLabel tone={runTones[state]} word={texts.runState[state]} />
}

export function UrlStateLabel({ state }: { state: UrlState }) {
  return <StateLabel tone={urlTones[state]} word={urlWord(state)} />
}

const severityTones: Record<Severity, Tone> = { error: 'bad', warning: 'warn', notice: 'plain' }
const severityIcons = { error: Cross, warning: Warning, notice: Dash }

export function SeverityLabel({ severity }: { severity: Severity }) {
  const Icon = severityIcons[severity]
  return (
    <span className={`tone severity tone-${severityTones[severity]}`}>
      <Icon size={13} />
      {texts.issues.severity[severity]}
    </span>
  )
}

export function WarningLabel({ word }: { word: string }) {
  return (
    <span className="tone tone-warn">
      <Warning size={13} />
      {word}
    </span>
  )
}
