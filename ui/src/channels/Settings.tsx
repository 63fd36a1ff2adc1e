/** The settings of a channel: what a crawl may take, when it starts, what belongs to it, notices, webhooks and the brand. */
import { Alert, Button, Checkbox, Group, Modal, NativeSelect, NumberInput, Paper, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useDebouncedValue, useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import * as api from '../api/channels'
import type { Channel, CrawlSettings, MediaType } from '../api/channels'
import { patch, post, remove } from '../api/client'
import { Failure, message, Section } from '../parts/frames'
import { shownUrl, Time } from '../parts/values'
import { texts } from '../texts'
import { BrandSection } from './Brand'
import { IssueRulesSection } from './IssueRules'
import { ScopeSection } from './Scope'
import { SecretOnce } from '../parts/SecretOnce'
import { WebhooksSection } from './Webhooks'

const words = texts.channelSettings
const MEDIA_TYPES: readonly MediaType[] = ['IMAGE', 'VIDEO', 'DOCUMENT']
const DEBOUNCE_MS = 400
const FIELDS = [
  'title', 'url', 'maxPages', 'maxDepth', 'includeMedia', 'mediaTypes', 'cron', 'timeZone', 'include', 'exclude', 'render', 'screenshots', 'personal',
] as const
const RENDERS = ['auto', 'never', 'always'] as const
const SCREENSHOTS = ['NONE', 'RENDERED', 'ALL'] as const
const PERSONAL = ['off', 'chunks', 'everywhere'] as const
export type Fields = Pick<Channel, (typeof FIELDS)[number]>
export type Change = <Name extends keyof Fields>(name: Name, value: Fields[Name]) => void

const PRESETS = { daily: '0 3 * * *', weekly: '0 3 * * 1', monthly: '0 3 1 * *' } as const
type Rhythm = 'tenant' | keyof typeof PRESETS | 'custom'

export function SettingsTab({ channel }: { channel: Channel }) {
  return (
    <Stack>
      <ChannelForm channel={channel} />
      <IssueRulesSection site={channel.site} />
      <BrandSection channel={channel} />
      <WebhooksSection />
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <NoticesSection channel={channel} />
        <DeleteSection channel={channel} />
      </SimpleGrid>
    </Stack>
  )
}

/** Limits, media and schedule in one form, which names what saving would change. */
function ChannelForm({ channel }: { channel: Channel }) {
  const client = useQueryClient()
  const limits = useQuery(api.crawlSettings)
  const [draft, setDraft] = useState<Partial<Fields>>({})
  const value = { ...channel, ...draft }
  const changed = FIELDS.filter((name) => JSON.stringify(value[name]) !== JSON.stringify(channel[name]))
  const set: Change = (name, to) => setDraft((before) => ({ ...before, [name]: to }))
  const save = useMutation({
    mutationFn: () => patch<Channel>(api.channelPath(channel.id), Object.fromEntries(changed.map((name) => [name, value[name]]))),
    onSuccess: async (saved) => {
      client.setQueryData(['channel', channel.id], saved)
      setDraft({})
      await client.invalidateQueries({ queryKey: ['channel', channel.id] })
      await client.invalidateQueries({ queryKey: ['channels'] })
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <Stack>
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          <Section title={words.limits}>
            <LimitFields value={value} set={set} limits={limits.data} />
          </Section>
          <Section title={words.schedule}>
            <ScheduleFields value={value} set={set} limits={limits.data} />
          </Section>
          <ScopeSection channel={channel} value={value} set={set} isChanged={changed.length > 0} />
          <Section title={words.reading}>
            <ReadingFields value={value} set={set} />
          </Section>
        </SimpleGrid>
        <Paper withBorder p="md" role="group" aria-label={words.changes} className={changed.length > 0 ? 'save-bar' : undefined}>
          <Stack gap="xs">
            {changed.length === 0 ? (
              <Text size="sm" c="dimmed" role="status">
                {save.isSuccess ? words.saved : words.unchanged}
              </Text>
            ) : (
              <>
                <Text fw={600}>{words.changes}</Text>
                <ul style={{ margin: 0, paddingLeft: '1.2rem' }}>
                  {changed.map((name) => (
                    <li key={name}>{words.change(words.fields[name], shown(channel[name]), shown(value[name]))}</li>
                  ))}
                </ul>
              </>
            )}
            {save.error && <Failure error={save.error} />}
            <Group>
              <Button type="submit" disabled={changed.length === 0} loading={save.isPending}>
                {words.save}
              </Button>
              {changed.length > 0 && (
                <Button variant="default" onClick={() => setDraft({})}>
                  {words.discard}
                </Button>
              )}
            </Group>
          </Stack>
        </Paper>
      </Stack>
    </form>
  )
}

/** A setting as the list of changes shows it. */
function shown(value: Fields[keyof Fields]): string {
  if (value === null) return words.ofTenant
  if (typeof value === 'boolean') return value ? texts.yes : texts.no
  if (typeof value !== 'string' && typeof value !== 'number') return value.map((each) => texts.media.types[each as MediaType] ?? each).join(', ') || texts.none
  return words.choices[value] ?? String(value)
}

interface FieldsProps {
  value: Fields
  set: Change
  limits: CrawlSettings | undefined
}

function LimitFields({ value, set, limits }: FieldsProps) {
  const most = limits?.effectiveMaxPages
  return (
    <Stack>
      <TextInput label={words.fields.title} value={value.title} maxLength={200} onChange={(event) => set('title', event.currentTarget.value)} />
      <TextInput
        label={words.fields.url}
        description={words.urlHint}
        type="url"
        value={value.url}
        onChange={(event) => set('url', event.currentTarget.value)}
      />
      <Group grow align="flex-start" preventGrowOverflow={false}>
        <NumberInput
          label={words.fields.maxPages}
          description={limits && words.ceiling(limits.effectiveMaxPages, texts.manage.plans[limits.plan], limits.planMaxPages)}
          placeholder={most?.toString()}
          value={value.maxPages ?? ''}
          onChange={(pages) => set('maxPages', pages === '' ? null : Number(pages))}
          min={1}
          max={limits?.planMaxPages}
        />
        <NumberInput
          label={words.fields.maxDepth}
          description={words.depthHint}
          value={value.maxDepth}
          onChange={(depth) => set('maxDepth', Number(depth) || 0)}
          min={0}
          max={100}
        />
      </Group>
      <Switch
        label={words.fields.includeMedia}
        checked={value.includeMedia}
        onChange={(event) => set('includeMedia', event.currentTarget.checked)}
      />
      {value.includeMedia && (
        <Group role="group" aria-label={words.fields.mediaTypes}>
          {MEDIA_TYPES.map((type) => (
            <Checkbox
              key={type}
              label={texts.media.types[type]}
              checked={value.mediaTypes.includes(type)}
              onChange={(event) => {
                const isOn = event.currentTarget.checked
                set('mediaTypes', MEDIA_TYPES.filter((each) => (each === type ? isOn : value.mediaTypes.includes(each))))
              }}
            />
          ))}
        </Group>
      )}
      {limits && (
        <Text size="sm" c="dimmed">
          {words.videos(limits.websiteMaxVideoSizeMb)}
        </Text>
      )}
    </Stack>
  )
}

/** How pages are rendered, and where personal data is masked. */
function ReadingFields({ value, set }: Omit<FieldsProps, 'limits'>) {
  return (
    <Stack>
      <NativeSelect
        label={words.fields.render}
        description={words.renderHint}
        value={value.render}
        onChange={(event) => set('render', event.currentTarget.value as Fields['render'])}
        data={RENDERS.map((each) => ({ value: each, label: words.choices[each] ?? each }))}
      />
      <NativeSelect
        label={words.fields.screenshots}
        description={words.screenshotsHint}
        value={value.screenshots}
        onChange={(event) => set('screenshots', event.currentTarget.value as Fields['screenshots'])}
        data={SCREENSHOTS.map((each) => ({ value: each, label: words.choices[each] ?? each }))}
      />
      <NativeSelect
        label={words.fields.personal}
        description={words.personalHint}
        value={value.personal}
        onChange={(event) => set('personal', event.currentTarget.value as Fields['personal'])}
        data={PERSONAL.map((each) => ({ value: each, label: words.choices[each] ?? each }))}
      />
      <Text size="sm" c="dimmed">
        {words.secretsHint}
      </Text>
    </Stack>
  )
}

function rhythmOf(cron: string | null): Rhythm {
  if (cron === null) return 'tenant'
  return (Object.keys(PRESETS) as (keyof typeof PRESETS)[]).find((each) => PRESETS[each] === cron) ?? 'custom'
}

function ScheduleFields({ value, set, limits }: FieldsProps) {
  const [isCustom, setCustom] = useState(false)
  const rhythm: Rhythm = isCustom && value.cron !== null ? 'custom' : rhythmOf(value.cron)
  const [cron] = useDebouncedValue(value.cron ?? '', DEBOUNCE_MS)
  const [zone] = useDebouncedValue(value.timeZone ?? '', DEBOUNCE_MS)
  const preview = useQuery(api.schedulePreview(cron, zone))
  const frequency = limits ? words.frequencies[limits.websiteCrawlFrequency] : ''
  function choose(next: Rhythm) {
    setCustom(next === 'custom')
    set('cron', next === 'tenant' ? null : next === 'custom' ? (value.cron ?? PRESETS.weekly) : PRESETS[next])
  }
  return (
    <Stack>
      <NativeSelect
        label={words.rhythm}
        value={rhythm}
        onChange={(event) => choose(event.currentTarget.value as Rhythm)}
        data={[
          { value: 'tenant', label: words.rhythms.tenant(frequency) },
          ...(['daily', 'weekly', 'monthly', 'custom'] as const).map((each) => ({ value: each, label: words.rhythms[each] })),
        ]}
      />
      {rhythm === 'custom' && (
        <TextInput
          label={words.fields.cron}
          description={words.cronHint}
          value={value.cron ?? ''}
          maxLength={100}
          spellCheck={false}
          onChange={(event) => set('cron', event.currentTarget.value)}
          error={preview.error ? message(preview.error) : undefined}
        />
      )}
      <TextInput
        label={words.fields.timeZone}
        placeholder={limits?.timeZone}
        value={value.timeZone ?? ''}
        list="time-zones"
        onChange={(event) => set('timeZone', event.currentTarget.value || null)}
        error={preview.error && rhythm !== 'custom' ? message(preview.error) : undefined}
      />
      <datalist id="time-zones">
        {Intl.supportedValuesOf('timeZone').map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      {preview.data && !preview.error && (
        <div role="status">
          <Text fw={600} size="sm">
            {preview.data.description}
            {preview.data.upcoming.length > 0 && `, ${preview.data.timeZone}`}
          </Text>
          {preview.data.upcoming.length > 0 && (
            <>
              <Text size="sm" c="dimmed">
                {words.nextFive}
              </Text>
              <ol style={{ margin: 0, paddingLeft: '1.4rem', fontSize: '0.9rem' }}>
                {preview.data.upcoming.map((time) => (
                  <li key={time}>
                    <Time value={time} />
                  </li>
                ))}
              </ol>
            </>
          )}
          {rhythm === 'tenant' && preview.data.upcoming.length > 0 && (
            <Text size="xs" c="dimmed" mt={4}>
              {words.jitter}
            </Text>
          )}
        </div>
      )}
    </Stack>
  )
}

/** Signed notices by which a CMS reports changed pages. */
function NoticesSection({ channel }: { channel: Channel }) {
  const client = useQueryClient()
  const replace = useMutation({
    mutationFn: () => post<{ secret: string }>(api.channelPath(channel.id, 'webhook-secret')),
    onSuccess: () => client.invalidateQueries({ queryKey: ['channel', channel.id] }),
  })
  return (
    <Section title={words.notices}>
      <Stack align="flex-start" gap="sm">
        <Text size="sm">{words.noticesHint}</Text>
        <code style={{ overflowWrap: 'anywhere' }}>
          POST {location.origin}
          {api.channelPath(channel.id, 'webcrawl/changed')}
        </code>
        {replace.data && <SecretOnce secret={replace.data.secret} />}
        {replace.error && <Failure error={replace.error} />}
        <Button variant="default" loading={replace.isPending} onClick={() => replace.mutate()}>
          {channel.hasWebhookSecret ? words.replaceSecret : words.createSecret}
        </Button>
        {channel.hasWebhookSecret && (
          <Text size="xs" c="dimmed">
            {words.replaceHint}
          </Text>
        )}
      </Stack>
    </Section>
  )
}

function DeleteSection({ channel }: { channel: Channel }) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const [isAsking, asking] = useDisclosure()
  const [typed, setTyped] = useState('')
  const act = useMutation({
    mutationFn: () => remove(api.channelPath(channel.id)),
    onSuccess: async () => {
      go('/')
      client.removeQueries({ queryKey: ['channel', channel.id] })
      await client.invalidateQueries()
    },
  })
  return (
    <Section title={words.delete}>
      <Stack align="flex-start" gap="sm">
        <Text size="sm">{words.deleteHint}</Text>
        <Button color="red.9" onClick={asking.open}>
          {words.deleteButton}
        </Button>
      </Stack>
      <Modal opened={isAsking} onClose={asking.close} title={words.deleteTitle} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
        <Stack>
          <Alert color="red" variant="outline" title={shownUrl(channel.url)}>
            {words.deleteHint}
          </Alert>
          <TextInput
            label={words.deleteType(channel.site)}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            data-autofocus
          />
          {act.error && <Failure error={act.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={asking.close}>
              {words.deleteNo}
            </Button>
            <Button color="red.9" disabled={typed !== channel.site} loading={act.isPending} onClick={() => act.mutate()}>
              {words.deleteButton}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Section>
  )
}
