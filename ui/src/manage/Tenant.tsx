/** One tenant: crawl settings with the next times, and its suspension and deletion. */
import { Alert, Anchor, Button, Group, NativeSelect, NumberInput, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { Link, useLocation } from 'wouter'
import { ApiError, patch, post, remove } from '../api/client'
import * as manage from '../api/manage'
import { Facts, Failure, Loading, Missing, Screen, Section } from '../parts/frames'
import { Back } from '../parts/icons'
import { StateLabel } from '../parts/states'
import { Time } from '../parts/values'
import { texts } from '../texts'
import { Confirmation } from './parts'

const words = texts.manage.tenant
const PLANS: Record<manage.Plan, number> = { FREE: 50, STARTER: 100, PRO: 300, ENTERPRISE: 500 }
const FREQUENCIES = Object.keys(words.frequencies) as manage.Frequency[]
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]

export function TenantScreen({ id }: { id: string }) {
  const tenant = useQuery(manage.tenant(id))
  const settings = useQuery(manage.crawlSettings(id))
  const error = tenant.error ?? settings.error
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Missing title={words.missing} href="/manage" label={words.back} />
    )
  }
  if (error && !(tenant.data && settings.data)) return <Failure error={error} retry={() => void Promise.all([tenant.refetch(), settings.refetch()])} />
  if (!tenant.data || !settings.data) return <Loading />
  const { name, createdAt, suspendedAt } = tenant.data
  return (
    <Screen
      title={name}
      heading={
        <>
          <Anchor component={Link} href="/manage" size="sm">
            <Group gap={4} component="span">
              <Back size={14} />
              {words.back}
            </Group>
          </Anchor>
          <Group gap="sm">
            <Title order={1} size="h2">
              {name}
            </Title>
            <StateLabel tone={suspendedAt ? 'warn' : 'good'} word={suspendedAt ? texts.manage.tenants.suspended : texts.manage.tenants.active} />
          </Group>
        </>
      }
    >
      <Stack maw="64rem">
        <Section title={words.facts}>
          <Facts
            items={[
              [words.usage, texts.manage.usage(settings.data.currentUsage.pages, settings.data.currentUsage.channels)],
              [words.next, settings.data.nextScheduledCrawlAt ? <Time value={settings.data.nextScheduledCrawlAt} /> : words.notScheduled],
              id !== manage.DEFAULT_TENANT && [words.created, <Time value={createdAt} />],
              suspendedAt !== null && [words.suspendedSince, <Time value={suspendedAt} />],
              [words.id, id],
            ]}
          />
        </Section>
        <SettingsForm key={JSON.stringify(settings.data)} id={id} settings={settings.data} />
        <Danger tenant={tenant.data} />
      </Stack>
    </Screen>
  )
}

function SettingsForm({ id, settings }: { id: string; settings: manage.CrawlSettings }) {
  const client = useQueryClient()
  const [pages, setPages] = useState<number | string>(settings.websiteCrawlMaxPages)
  const [frequency, setFrequency] = useState(settings.websiteCrawlFrequency)
  const [zone, setZone] = useState(settings.timeZone)
  const [plan, setPlan] = useState(settings.plan)
  const [video, setVideo] = useState<number | string>(settings.websiteMaxVideoSizeMb)
  const next = useQuery(manage.preview(frequency, zone))
  const save = useMutation({
    mutationFn: () =>
      patch<manage.CrawlSettings>(manage.tenantPath(id, 'crawl-settings'), {
        websiteCrawlMaxPages: Number(pages),
        websiteCrawlFrequency: frequency,
        timeZone: zone,
        plan,
        websiteMaxVideoSizeMb: Number(video),
      }),
    onSuccess: (saved) => client.setQueryData(manage.crawlSettings(id).queryKey, saved),
  })
  const isChanged =
    Number(pages) !== settings.websiteCrawlMaxPages ||
    frequency !== settings.websiteCrawlFrequency ||
    zone !== settings.timeZone ||
    plan !== settings.plan ||
    Number(video) !== settings.websiteMaxVideoSizeMb
  function submit(event: FormEvent) {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Section title={words.settings}>
      <form onSubmit={submit}>
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <NumberInput
              label={words.maxPages}
              description={words.effective(Math.min(Number(pages), PLANS[plan]), PLANS[plan])}
              value={pages}
              onChange={setPages}
              min={10}
              max={500}
              allowDecimal={false}
            />
            <NativeSelect
              label={words.plan}
              description={words.planHint}
              value={plan}
              onChange={(event) => setPlan(event.currentTarget.value as manage.Plan)}
              data={Object.entries(PLANS).map(([value, limit]) => ({ value, label: words.planChoice(texts.manage.plans[value as manage.Plan], limit) }))}
            />
            <NativeSelect
              label={words.frequency}
              value={frequency}
              onChange={(event) => setFrequency(event.currentTarget.value as manage.Frequency)}
              data={FREQUENCIES.map((value) => ({ value, label: words.frequencies[value] }))}
            />
            <NativeSelect
              label={words.zone}
              value={zone}
              onChange={(event) => setZone(event.currentTarget.value)}
              data={ZONES.includes(settings.timeZone) ? ZONES : [settings.timeZone, ...ZONES]}
            />
            <NumberInput label={words.video} value={video} onChange={setVideo} min={1} max={10_000} allowDecimal={false} />
          </SimpleGrid>
          <div>
            <Text fw={600} size="sm">
              {words.upcoming}
            </Text>
            {frequency === 'MANUAL' ? (
              <Text size="sm">{words.manual}</Text>
            ) : (
              <>
                <ul className="times">{next.data?.upcoming.map((time) => <li key={time}><Time value={time} /></li>)}</ul>
                <Text size="sm" c="dimmed">
                  {words.jitter}
                </Text>
              </>
            )}
          </div>
          {save.error && <Failure error={save.error} />}
          <Group>
            <Button type="submit" disabled={!isChanged} loading={save.isPending}>
              {words.save}
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {isChanged ? words.unsaved : ''}
            </Text>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}

type Step = 'suspend' | 'resume' | 'delete'

function Danger({ tenant }: { tenant: manage.Tenant }) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const [step, setStep] = useState<Step>()
  const act = useMutation({
    mutationFn: async (chosen: Step) => {
      if (chosen === 'delete') await remove(manage.tenantPath(tenant.id))
      else await post<manage.Tenant>(manage.tenantPath(tenant.id, chosen))
    },
    onSuccess: (_, chosen) => {
      setStep(undefined)
      if (chosen === 'delete') {
        go('/manage')
        client.removeQueries({ queryKey: ['tenants', tenant.id] })
      }
      void client.invalidateQueries({ queryKey: ['tenants'] })
    },
  })
  if (tenant.id === manage.DEFAULT_TENANT) {
    return (
      <Alert variant="outline" color="gray">
        {words.isDefault}
      </Alert>
    )
  }
  function ask(chosen: Step) {
    act.reset()
    setStep(chosen)
  }
  return (
    <Section title={words.danger}>
      <Group>
        {tenant.suspendedAt === null ? (
          <Button variant="default" onClick={() => ask('suspend')}>
            {words.steps.suspend}
          </Button>
        ) : (
          <Button variant="default" loading={act.isPending} onClick={() => act.mutate('resume')}>
            {words.steps.resume}
          </Button>
        )}
        <Button color="red.9" onClick={() => ask('delete')}>
          {words.steps.delete}
        </Button>
      </Group>
      {step === undefined && act.error && <Failure error={act.error} />}
      {step !== undefined && (
        <Confirmation
          title={words.questions[step](tenant.name)}
          text={words.consequences[step]}
          action={words.steps[step]}
          typed={step === 'delete' ? tenant.name : undefined}
          isBusy={act.isPending}
          error={act.error}
          onConfirm={() => act.mutate(step)}
          onClose={() => setStep(undefined)}
        />
      )}
    </Section>
  )
}
