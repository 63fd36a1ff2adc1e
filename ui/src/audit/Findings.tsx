/** Findings one by one: the page, the evidence, the change that fixes it, and decisions to ignore it. */
import { Alert, Button, Group, Modal, Paper, Radio, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { address, post, remove, sitePath, type Finding } from '../api/client'
import * as queries from '../api/queries'
import { DownloadLinks } from '../parts/downloads'
import { FacetButtons, useAddressState } from '../parts/filters'
import { Empty, Failure, Loading } from '../parts/frames'
import { SeverityLabel } from '../parts/states'
import { ListBar, Pager } from '../parts/table'
import { Time } from '../parts/values'
import { UrlLink } from '../screens/Node'
import { texts } from '../texts'
import { Evidence } from './Evidence'

const FORMATS = ['csv', 'json', 'sarif'] as const
const DEFAULT_STATUSES = ['open', 'regressed'] as const

interface FindingListProps {
  site: string
  run: string
  /** Names the list and the files of its findings. */
  label: string
  /** Name of its parameters in the address. */
  name: string
  filter: queries.FindingFilter & { rule?: string; page?: string }
  /** Whether the findings are of several rules. */
  isMixed?: boolean
}

/** The changes of the address that clear the filters of a list. */
export function withoutFilters(name: string): Record<string, string> {
  return { [`${name}.q`]: '', [`${name}.status`]: '', [`${name}.offset`]: '' }
}

export function FindingList({ site, run, label, name, filter, isMixed = false }: FindingListProps) {
  const [parameters, change] = useAddressState()
  const text = parameters.get(`${name}.q`) ?? ''
  const chosen = parameters.getAll(`${name}.status`)
  const offset = Math.max(0, Number(parameters.get(`${name}.offset`)) || 0)
  const statuses = chosen.length > 0 ? chosen : (filter.status ?? DEFAULT_STATUSES)
  const listed = { ...filter, status: statuses, q: text || undefined }
  const findings = useQuery(queries.findings(site, listed, offset))
  if (findings.isPending) return <Loading height="4rem" />
  if (findings.isLoadingError) return <Failure error={findings.error} retry={() => void findings.refetch()} />
  const { by_status: counts, pagination } = findings.data
  const isFiltered = text !== '' || chosen.length > 0
  const set = (changes: Record<string, string | readonly string[]>) => change({ ...changes, [`${name}.offset`]: '' })
  const clear = () => change(withoutFilters(name))
  const hasChoice = isFiltered || Object.values(counts).reduce((sum, count) => sum + count, 0) > 1
  return (
    <Stack gap="sm">
      {hasChoice && (
        <ListBar
          label={texts.issues.filter}
          text={text}
          setText={(q) => set({ [`${name}.q`]: q })}
          range={{ offset, shown: pagination.returned, total: pagination.total }}
          isFiltered={isFiltered}
          clear={clear}
          downloads={
            <DownloadLinks
              label={texts.issues.downloadOf(label)}
              formats={FORMATS}
              names={texts.issues.formats}
              href={(format) => address(sitePath(site, 'findings/export'), { ...listed, format })}
            />
          }
        >
          {(chosen.length > 0 || Object.keys(counts).length > 1) && (
            <FacetButtons
              label={texts.issues.status}
              counts={counts}
              chosen={statuses.filter((status) => chosen.length > 0 || counts[status])}
              word={(status) => texts.issues.statuses[status] ?? status}
              onChange={(picked) => set({ [`${name}.status`]: picked })}
            />
          )}
        </ListBar>
      )}
      {findings.data.findings.length === 0 && (
        <Empty title={texts.issues.noneOfRule}>
          {isFiltered && (
            <Button variant="default" onClick={clear}>
              {texts.urls.clear}
            </Button>
          )}
        </Empty>
      )}
      {findings.data.findings.map((finding) => (
        <OneFinding key={finding.id} site={site} run={run} finding={finding} isMixed={isMixed} />
      ))}
      <Pager
        offset={offset}
        size={queries.FINDINGS_PER_PAGE}
        hasMore={offset + pagination.returned < pagination.total}
        onChange={(to) => change({ [`${name}.offset`]: to })}
      />
    </Stack>
  )
}

function OneFinding({ site, run, finding, isMixed }: { site: string; run: string; finding: Finding; isMixed: boolean }) {
  const [isShown, setShown] = useState(false)
  return (
    <Paper withBorder p="sm" className="finding">
      <Stack gap="xs">
        {isMixed && (
          <Group gap="xs">
            <SeverityLabel severity={finding.severity} />
            <Text fw={600}>{finding.title}</Text>
          </Group>
        )}
        <div>
          <UrlLink run={run} url={finding.url} />{' '}
          <Text span size="xs" c="dimmed">
            {texts.issues.since} <Time value={finding.first_seen} />
          </Text>
        </div>
        <Evidence run={run} evidence={finding.evidence} />
        {isMixed && <Text size="sm">{finding.fix}</Text>}
        {finding.ignored && (
          <Text size="sm" c="dimmed">
            {texts.issues.ignoredBy(finding.ignored.by, finding.ignored.reason)}
            {finding.ignored.until && (
              <>
                , {texts.issues.ignoredUntil} <Time value={finding.ignored.until} />
              </>
            )}
          </Text>
        )}
        {finding.status !== 'resolved' && (
          <Group gap="xs">
            {finding.has_fix && (
              <Button size="compact-sm" variant="default" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
                {texts.issues.proposal}
              </Button>
            )}
            {finding.status === 'ignored' ? <TakeBack site={site} finding={finding} /> : <Ignore site={site} finding={finding} />}
          </Group>
        )}
        {isShown && <Proposal site={site} finding={finding} />}
      </Stack>
    </Paper>
  )
}

/** The HTML before and after, as text. */
function Proposal({ site, finding }: { site: string; finding: Finding }) {
  const fix = useQuery(queries.fix(site, finding.id))
  if (fix.isPending) return <Loading height="3rem" />
  if (fix.isLoadingError) return <Failure error={fix.error} retry={() => void fix.refetch()} />
  if (fix.data.reason) {
    return (
      <Text size="sm" c="dimmed" role="status">
        {texts.issues.noProposal(fix.data.reason)}
      </Text>
    )
  }
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {texts.issues.before}
      </Text>
      <pre className="source fragment fragment-before" tabIndex={0} aria-label={texts.issues.before}>
        {fix.data.before}
      </pre>
      <Text size="sm" fw={600}>
        {texts.issues.after}
      </Text>
      <pre className="source fragment fragment-after" tabIndex={0} aria-label={texts.issues.after}>
        {fix.data.after}
      </pre>
    </Stack>
  )
}

function useDecision(site: string) {
  const client = useQueryClient()
  return { onSuccess: () => client.invalidateQueries({ queryKey: ['audit', site] }) }
}

function TakeBack({ site, finding }: { site: string; finding: Finding }) {
  const open = useMutation({ mutationFn: () => remove<Finding>(sitePath(site, `findings/${finding.id}/ignore`)), ...useDecision(site) })
  return (
    <>
      <Button size="compact-sm" variant="default" loading={open.isPending} onClick={() => open.mutate()}>
        {texts.issues.takeBack}
      </Button>
      {open.error && <Failure error={open.error} />}
    </>
  )
}

const SCOPES = ['finding', 'page', 'rule'] as const

function Ignore({ site, finding }: { site: string; finding: Finding }) {
  const [isOpen, dialog] = useDisclosure()
  const [reason, setReason] = useState('')
  const [scope, setScope] = useState<string>('finding')
  const [until, setUntil] = useState('')
  const ignore = useMutation({
    mutationFn: () => post<Finding>(sitePath(site, `findings/${finding.id}/ignore`), { reason: reason.trim(), scope, until: until || null }),
    ...useDecision(site),
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    if (reason.trim() !== '') ignore.mutate()
  }
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={dialog.open}>
        {texts.issues.ignore} …
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={texts.issues.ignoreTitle} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
        <form onSubmit={submit}>
          <Stack>
            <Textarea
              label={texts.issues.reason}
              description={texts.issues.reasonHint}
              required
              autosize
              minRows={2}
              maxLength={1000}
              data-autofocus
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
            />
            <Radio.Group label={texts.issues.scope} value={scope} onChange={setScope}>
              <Stack gap="xs" mt="xs">
                {SCOPES.map((each) => (
                  <Radio key={each} value={each} label={texts.issues.scopes[each]} />
                ))}
              </Stack>
            </Radio.Group>
            <TextInput type="date" label={texts.issues.until} value={until} onChange={(event) => setUntil(event.currentTarget.value)} />
            {ignore.error && (
              <Alert color="red" variant="outline" role="alert">
                <Failure error={ignore.error} />
              </Alert>
            )}
            <Group justify="flex-end">
              <Button variant="default" onClick={dialog.close}>
                {texts.issues.cancel}
              </Button>
              <Button type="submit" disabled={reason.trim() === ''} loading={ignore.isPending}>
                {texts.issues.ignoreYes}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  )
}
