/** The audits of a channel: which rules are on, with which thresholds, which paths are left out, and whether links to other sites are checked. */
import { Button, Group, NumberInput, Stack, Switch, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, put, sitePath, type AuditSettings, type Rule } from '../api/client'
import * as queries from '../api/queries'
import { Failure, Loading, Section } from '../parts/frames'
import { LocalTable, type LocalColumn } from '../parts/table'
import { texts } from '../texts'

const words = texts.issueRules
/** Off, on, or on with these thresholds. */
type RuleSetting = boolean | Record<string, number>

export function IssueRulesSection({ site }: { site: string }) {
  const rules = useQuery({ ...queries.rules(site), retry: false })
  const settings = useQuery({ ...queries.auditSettings(site), retry: false })
  const error = rules.error ?? settings.error
  return (
    <Section title={words.title}>
      {error instanceof ApiError && error.status === 404 ? (
        <Text size="sm" c="dimmed">
          {words.notCrawled}
        </Text>
      ) : error ? (
        <Failure error={error} />
      ) : rules.data && settings.data ? (
        <RulesForm site={site} rules={rules.data.rules} settings={settings.data} />
      ) : (
        <Loading height="8rem" />
      )}
    </Section>
  )
}

interface RulesFormProps {
  site: string
  rules: readonly Rule[]
  settings: AuditSettings
}

function RulesForm({ site, rules, settings }: RulesFormProps) {
  const client = useQueryClient()
  const [changed, setChanged] = useState<Record<string, RuleSetting>>({})
  const [exclude, setExclude] = useState<string>()
  const [checksLinks, setChecksLinks] = useState<boolean>()
  const save = useMutation({
    mutationFn: () => {
      const others = Object.entries(settings.rules).filter(([name]) => !(name in changed))
      return put<AuditSettings>(sitePath(site, 'audit-settings'), {
        // The later entry wins: a rule by its name comes after the patterns that concern it.
        rules: Object.fromEntries([...others, ...Object.entries(changed)]),
        exclude: exclude === undefined ? settings.exclude : exclude.split('\n').map((line) => line.trim()).filter(Boolean),
        check_links: checksLinks ?? settings.check_links,
      })
    },
    onSuccess: async () => {
      await Promise.all(['rules', 'settings'].map((part) => client.invalidateQueries({ queryKey: ['audit', site, part] })))
      discard()
    },
  })
  function discard() {
    setChanged({})
    setExclude(undefined)
    setChecksLinks(undefined)
  }
  const isOn = (rule: Rule) => (rule.id in changed ? changed[rule.id] !== false : rule.is_on)
  const limitsOf = (rule: Rule): Record<string, number> => {
    const own = changed[rule.id]
    return typeof own === 'object' ? own : rule.thresholds
  }
  const count = Object.keys(changed).length + (exclude === undefined ? 0 : 1) + (checksLinks === undefined ? 0 : 1)
  const columns: LocalColumn<Rule>[] = [
    {
      id: 'rule',
      label: words.columns.rule,
      isHeader: true,
      value: (rule) => `${rule.title} ${rule.id}`,
      cell: (rule) => (
        <>
          {rule.title}
          <Text span size="xs" c="dimmed" display="block">
            {rule.id}
          </Text>
        </>
      ),
    },
    { id: 'severity', label: words.columns.severity, width: '7rem', value: (rule) => rule.severity, facet: severityWord, cell: (rule) => severityWord(rule.severity) },
    { id: 'open', label: words.columns.open, width: '6rem', isNumber: true, value: (rule) => rule.open, cell: (rule) => rule.open.toLocaleString() },
    {
      id: 'limits',
      label: words.columns.limits,
      width: '19rem',
      cell: (rule) => (
        <Stack gap={6}>
          {Object.entries(limitsOf(rule)).map(([name, limit]) => (
            <Threshold
              key={name}
              rule={rule}
              name={name}
              limit={limit}
              isOff={!isOn(rule)}
              onChange={(to) => setChanged((before) => ({ ...before, [rule.id]: { ...limitsOf(rule), [name]: to } }))}
            />
          ))}
        </Stack>
      ),
    },
    {
      id: 'on',
      label: words.columns.on,
      width: '5.5rem',
      value: (rule) => (rule.is_on ? 'on' : 'off'),
      facet: (value) => (value === 'on' ? words.on : words.off),
      cell: (rule) => (
        <Switch
          aria-label={words.check(rule.title)}
          checked={isOn(rule)}
          onChange={(event) => {
            const setting = event.currentTarget.checked && (Object.keys(rule.thresholds).length > 0 ? limitsOf(rule) : true)
            setChanged((before) => ({ ...before, [rule.id]: setting }))
          }}
        />
      ),
    },
  ]
  return (
    <Stack>
      <Text size="sm">{words.hint}</Text>
      <Switch
        label={words.checkLinks}
        description={words.checkLinksHint}
        checked={checksLinks ?? settings.check_links}
        onChange={(event) => setChecksLinks(event.currentTarget.checked)}
      />
      <Textarea
        label={words.exclude}
        description={words.excludeHint}
        placeholder={words.excludeExample}
        autosize
        minRows={1}
        maxRows={6}
        spellCheck={false}
        value={exclude ?? settings.exclude.join('\n')}
        onChange={(event) => setExclude(event.currentTarget.value)}
      />
      <LocalTable label={words.table} name="rules" isOneOfSeveral columns={columns} rows={rules} keyOf={(rule) => rule.id} minWidth="52rem" download={ruleRow} groupOf={(rule) => groupWord(rule.group)} />
      {save.error && <Failure error={save.error} />}
      <Group>
        <Button disabled={count === 0} loading={save.isPending} onClick={() => save.mutate()}>
          {words.save}
        </Button>
        {count > 0 && (
          <Button variant="default" onClick={discard}>
            {texts.channelSettings.discard}
          </Button>
        )}
        <Text size="sm" c="dimmed" role="status">
          {count > 0 ? words.changes(count) : save.isSuccess ? words.saved : ''}
        </Text>
      </Group>
    </Stack>
  )
}

interface ThresholdProps {
  rule: Rule
  name: string
  limit: number
  isOff: boolean
  onChange: (limit: number) => void
}

/** One threshold with its unit. Shares are shown in per cent. */
function Threshold({ rule, name, limit, isOff, onChange }: ThresholdProps) {
  const [label, unit] = words.thresholds[`${rule.id}.${name}`] ?? words.thresholds[name] ?? [name.replaceAll('_', ' '), '']
  const scale = unit.startsWith('%') ? 100 : 1
  return (
    <NumberInput
      size="xs"
      label={label}
      aria-label={words.limitOf(rule.title, label)}
      suffix={unit && ` ${unit}`}
      thousandSeparator
      min={0}
      value={Number((limit * scale).toPrecision(12))}
      disabled={isOff}
      onChange={(to) => typeof to === 'number' && onChange(Number((to / scale).toPrecision(12)))}
    />
  )
}

function groupWord(group: string): string {
  return (texts.issues.groups as Record<string, string>)[group] ?? group
}

function severityWord(severity: string): string {
  return texts.issues.severity[severity as Rule['severity']] ?? severity
}

function ruleRow({ id, title, group, severity, is_on, thresholds, open }: Rule) {
  return { id, title, group, severity, is_on, thresholds, open }
}
