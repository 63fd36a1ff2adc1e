/** What is wrong with a site: the score, the findings by rule with evidence and fix, and files of what is shown. */
import { Accordion, Alert, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { address, sitePath, type Audit, type Issue, type Rule, type Severity } from '../api/client'
import * as queries from '../api/queries'
import { FacetButtons, useAddressState } from '../parts/filters'
import { Empty, Figure, Failure, Loading } from '../parts/frames'
import { DownloadLinks } from '../parts/downloads'
import { Check } from '../parts/icons'
import { SeverityLabel, WarningLabel } from '../parts/states'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { FindingList, withoutFilters } from './Findings'
import { AuditButton, SiteAudits, SiteFrame } from './SiteFrame'

const SEVERITIES = ['error', 'warning', 'notice'] as const
const FORMATS = ['csv', 'json', 'sarif'] as const
const SHOWS = { open: ['open', 'regressed'], ignored: ['ignored'], resolved: ['resolved'] } as const
type Show = keyof typeof SHOWS
/** Rules that a request may name. */
const MAX_NAMED_RULES = 100

export default function IssuesScreen({ site }: { site: string }) {
  return (
    <SiteFrame site={site} part="issues" actions={<AuditButton site={site} label={texts.issues.audit} />}>
      {(done) => <SiteIssues site={site} audit={done[0] as Audit} />}
    </SiteFrame>
  )
}

/** The issues of a site as a tab of its channel. */
export function IssuesTab({ site }: { site: string }) {
  return <SiteAudits site={site}>{(done) => <SiteIssues site={site} audit={done[0] as Audit} actions={<AuditButton site={site} label={texts.issues.audit} />} />}</SiteAudits>
}

function SiteIssues({ site, audit, actions }: { site: string; audit: Audit; actions?: ReactNode }) {
  const [parameters, change] = useAddressState()
  const show = (Object.keys(SHOWS) as Show[]).find((each) => each === parameters.get('show')) ?? 'open'
  const onlyNew = parameters.get('new') === 'true' && show === 'open'
  const severities = parameters.getAll('severity')
  const groups = parameters.getAll('group')
  const opened = parameters.getAll('rule')
  const filter: queries.FindingFilter = { status: SHOWS[show], new: onlyNew || undefined }
  const rules = useQuery(queries.rules(site))
  const issues = useQuery(queries.issues(site, filter))
  if (rules.isPending || issues.isPending) return <Loading />
  if (rules.isLoadingError) return <Failure error={rules.error} retry={() => void rules.refetch()} />
  if (issues.isLoadingError) return <Failure error={issues.error} retry={() => void issues.refetch()} />

  const ruleOf = new Map(rules.data.rules.map((rule) => [rule.id, rule]))
  const groupOf = (issue: Issue) => ruleOf.get(issue.rule)?.group ?? ''
  const passes = (issue: Issue, bySeverity: boolean, byGroup: boolean) =>
    (!bySeverity || severities.length === 0 || severities.includes(issue.severity)) && (!byGroup || groups.length === 0 || groups.includes(groupOf(issue)))
  const shown = issues.data.issues.filter((issue) => passes(issue, true, true))
  const isFiltered = severities.length > 0 || groups.length > 0 || onlyNew
  return (
    <Stack>
      <Summary site={site} audit={audit} rules={rules.data.rules} actions={actions} />
      {!audit.is_complete && (
        <Alert color="yellow" variant="outline">
          {texts.issues.incomplete}
        </Alert>
      )}
      <Stack gap="xs">
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label={texts.issues.show}
            value={show}
            onChange={(value) => change({ ...closing(opened), show: value === 'open' ? '' : value, new: '', severity: '', group: '', rule: '' })}
            data={(Object.keys(SHOWS) as Show[]).map((value) => ({ value, label: texts.issues.shows[value] }))}
          />
          {show === 'open' && (
            <button type="button" className="facet" aria-pressed={onlyNew} onClick={() => change({ new: onlyNew ? '' : 'true' })}>
              {texts.issues.onlyNew}
              <span className="count">{audit.findings.opened.toLocaleString()}</span>
            </button>
          )}
        </Group>
        <FacetButtons
          label={texts.issues.filterSeverity}
          counts={countBy(issues.data.issues.filter((issue) => passes(issue, false, true)), (issue) => issue.severity)}
          chosen={severities}
          word={(name) => texts.issues.severities[name as Severity] ?? name}
          onChange={(severity) => change({ severity })}
        />
        <FacetButtons
          label={texts.issues.filterGroup}
          counts={countBy(issues.data.issues.filter((issue) => passes(issue, true, false)), groupOf)}
          chosen={groups}
          word={(name) => texts.issues.groups[name] ?? name}
          onChange={(group) => change({ group })}
        />
      </Stack>
      {shown.length === 0 ? (
        <Nothing show={show} isFiltered={isFiltered} clear={() => change({ severity: '', group: '', new: '' })} />
      ) : (
        <>
          <DownloadLinks
            label={texts.issues.download}
            formats={FORMATS}
            names={texts.issues.formats}
            justify="flex-end"
            href={(format) =>
              address(sitePath(site, 'findings/export'), {
                ...filter,
                rule: isFiltered && shown.length <= MAX_NAMED_RULES ? shown.map((issue) => issue.rule) : [],
                format,
              })
            }
          />
          <Accordion
            variant="separated"
            multiple
            order={2}
            keepMounted={false}
            value={opened}
            onChange={(rule) => change({ ...closing(opened.filter((each) => !rule.includes(each))), rule })}
          >
            {shown.map((issue) => (
              <RuleCard key={issue.rule} site={site} run={audit.run} issue={issue} rule={ruleOf.get(issue.rule)} filter={filter} />
            ))}
          </Accordion>
        </>
      )}
    </Stack>
  )
}

/** The changes of the address when the cards of these rules are closed: their filters are forgotten. */
function closing(rules: readonly string[]): Record<string, string> {
  return Object.assign({}, ...rules.map(withoutFilters)) as Record<string, string>
}

function countBy(issues: readonly Issue[], name: (issue: Issue) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const issue of issues) counts[name(issue)] = (counts[name(issue)] ?? 0) + issue.findings
  return counts
}

/** The score, the numbers of open findings, and which rules looked at how many pages. */
function Summary({ site, audit, rules, actions }: { site: string; audit: Audit; rules: readonly Rule[]; actions?: ReactNode }) {
  const insights = useQuery(queries.insights(site, audit.run))
  const honesty = insights.data?.insights['run_honesty'] as { read: number; unchanged: number } | undefined
  const pages = honesty ? honesty.read + honesty.unchanged : null
  const on = rules.filter((rule) => rule.is_on)
  const silent = on.filter((rule) => !rule.has_records).length
  const { by_severity, opened, resolved, ignored } = audit.findings
  const isClean = Object.values(by_severity).every((count) => count === 0)
  return (
    <Stack gap="sm">
      <div className="figures">
        <Score audit={audit} />
        {SEVERITIES.map((severity) => (
          <Figure key={severity} label={texts.issues.severities[severity]} value={(by_severity[severity] ?? 0).toLocaleString()} />
        ))}
        <Figure label={texts.issues.opened} value={opened.toLocaleString()} />
        <Figure label={texts.issues.resolved} value={resolved.toLocaleString()} />
        <Figure label={texts.issues.ignored} value={ignored.toLocaleString()} />
      </div>
      <Group gap="xs" justify="space-between">
      {pages !== null && (
        <Group gap="xs" className={isClean ? 'tone-good' : undefined} style={{ flex: '1 1 20rem' }}>
          {isClean && (
            <span className="tone tone-good">
              <Check size={13} /> {texts.issues.clean}
            </span>
          )}
          <Text size="sm">{texts.issues.checked(on.length - silent, pages)}</Text>
          <Text size="sm" c="dimmed">
            {silent > 0 && `${texts.issues.silent(silent)} `}
            {on.length < rules.length && `${texts.issues.off(rules.length - on.length)} `}
            {texts.issues.at} <Time value={audit.finished_at} />
          </Text>
        </Group>
      )}
        {actions}
      </Group>
    </Stack>
  )
}

function Score({ audit }: { audit: Audit }) {
  const { score } = audit
  if (score === null || score.percent === null) return <Figure label={texts.issues.score} value={texts.none} hint={texts.issues.noScore} />
  // 100 only where every page is clean.
  const shown = score.clean === score.indexable ? 100 : Math.min(99, Math.round(score.percent))
  return (
    <Figure
      label={texts.issues.score}
      value={`${shown} %`}
      hint={`${texts.issues.bands[score.band] ?? score.band}: ${texts.issues.scoreOf(score.clean, score.indexable)}`}
    />
  )
}

function Nothing({ show, isFiltered, clear }: { show: Show; isFiltered: boolean; clear: () => void }) {
  if (isFiltered) {
    return (
      <Empty title={texts.issues.none}>
        <Button variant="default" onClick={clear}>
          {texts.issues.clear}
        </Button>
      </Empty>
    )
  }
  return <Empty title={show === 'ignored' ? texts.issues.noneIgnored : show === 'resolved' ? texts.issues.noneResolved : texts.issues.clean} />
}

interface RuleCardProps {
  site: string
  run: string
  issue: Issue
  rule: Rule | undefined
  filter: queries.FindingFilter
}

function RuleCard({ site, run, issue, rule, filter }: RuleCardProps) {
  return (
    <Accordion.Item value={issue.rule}>
      <Accordion.Control>
        <Group gap="xs">
          <SeverityLabel severity={issue.severity} />
          <Text fw={600} style={{ flex: '1 1 14rem' }}>
            {rule?.title ?? issue.rule}
          </Text>
          {issue.regressed > 0 && <WarningLabel word={texts.issues.regressed(issue.regressed)} />}
          {issue.new > issue.regressed && <span className="tone tone-busy">{texts.issues.newOnes(issue.new - issue.regressed)}</span>}
          <Text size="sm" c="dimmed" mr="xs">
            {texts.issues.where(issue.findings, issue.pages)}
          </Text>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Stack gap="sm">
          {rule && (
            <dl className="facts">
              <dt>{texts.issues.why}</dt>
              <dd>{rule.explanation}</dd>
              <dt>{texts.issues.fix}</dt>
              <dd>{rule.fix}</dd>
            </dl>
          )}
          <FindingList site={site} run={run} label={rule?.title ?? issue.rule} name={issue.rule} filter={{ ...filter, rule: issue.rule }} />
        </Stack>
      </Accordion.Panel>
    </Accordion.Item>
  )
}
