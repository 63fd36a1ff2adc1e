/** The first start, every new channel and every single crawl: one field, what will happen, and a button. */
import { Anchor, Button, Collapse, Group, List, NativeSelect, NumberInput, Paper, Stack, Switch, Text, TextInput, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { CHANNELS, channelPath, crawlSettings, type Channel, type Job } from '../api/channels'
import { ApiError, post, type Run, type Session } from '../api/client'
import { Failure, message, Screen } from '../parts/frames'
import { Play } from '../parts/icons'
import { texts } from '../texts'

const SCOPES = ['host', 'origin', 'domain', 'prefix'] as const
const DEFAULT_PAGES = 500
const DEFAULT_DEPTH = 25
const CHANNEL_DEPTH = 3

/** The address as typed, with a scheme. Undefined when it is none. */
export function completed(typed: string): string | undefined {
  const text = typed.trim()
  const isLocal = /^(localhost|127\.|\[::1\])/i.test(text)
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${isLocal ? 'http' : 'https'}://${text}`
  try {
    const parsed = new URL(url)
    return /^https?:$/.test(parsed.protocol) && parsed.hostname ? parsed.href : undefined
  } catch {
    return undefined
  }
}

interface StartProps {
  session: Session
  /** There is no channel yet. */
  isFirst?: boolean
  /** Runs that are no crawls of a channel. */
  runs?: number
}

export function StartScreen({ session, isFirst = false, runs = 0 }: StartProps) {
  const [parameters] = useSearchParams()
  const [typed, setTyped] = useState(parameters.get('url') ?? '')
  const [isKept, setKept] = useState(!parameters.has('once'))
  const [typedPages, setPages] = useState<number | string>('')
  const [typedDepth, setDepth] = useState<number | string>('')
  const limits = useQuery({ ...crawlSettings, enabled: isKept, retry: false })
  const most = limits.data?.effectiveMaxPages ?? DEFAULT_PAGES
  const pages = typedPages === '' ? (isKept ? most : DEFAULT_PAGES) : Number(typedPages)
  const depth = typedDepth === '' ? (isKept ? CHANNEL_DEPTH : DEFAULT_DEPTH) : Number(typedDepth)
  const [scope, setScope] = useState<string>('host')
  const [documents, setDocuments] = useState(false)
  const [problem, setProblem] = useState('')
  const [hasOptions, options] = useDisclosure()
  const [, go] = useLocation()
  const client = useQueryClient()

  function show(run: Run) {
    void client.invalidateQueries({ queryKey: ['runs'] })
    go(`/runs/${run.id}`)
  }
  const once = useMutation({
    mutationFn: (seedUrl: string) =>
      post<Run>('/crawl-runs', { seedUrl, settings: { maxPages: pages, maxDepth: depth, scopeMode: scope, includeDocuments: documents } }),
    onSuccess: show,
  })
  const again = useMutation({
    mutationFn: async (url: string) => {
      const channel = await post<Channel>(CHANNELS, { url, maxPages: typedPages === '' ? null : pages, maxDepth: depth })
      // The channel exists now, whatever becomes of the crawl: its screen can start another one.
      await post<Job>(channelPath(channel.id, 'webcrawl/start')).catch(() => undefined)
      return channel
    },
    onSuccess: (channel) => {
      void client.invalidateQueries({ queryKey: ['channels'] })
      go(`/channels/${channel.id}`)
    },
  })
  const crawl = isKept ? again : once
  const example = useMutation({ mutationFn: () => post<Run>('/demo'), onSuccess: show })

  function submit(event: FormEvent) {
    event.preventDefault()
    once.reset()
    again.reset()
    const url = completed(typed)
    setProblem(typed.trim() === '' ? texts.start.empty : url === undefined ? texts.start.invalid : '')
    if (url !== undefined && typed.trim()) crawl.mutate(url)
  }

  const refused = crawl.error instanceof ApiError && crawl.error.code === 'address-refused'
  const invalid = crawl.error instanceof ApiError && crawl.error.code === 'invalid'
  const exists = crawl.error instanceof ApiError && crawl.error.code === 'channel-exists'
  const fieldError =
    problem ||
    (refused ? texts.start.refused(message(crawl.error).replace(/\.$/, '')) : invalid ? texts.start.invalid : exists ? texts.start.exists : undefined)
  const title = isFirst ? (runs > 0 ? texts.start.firstChannel : texts.start.title) : isKept ? texts.start.addChannel : texts.start.again

  return (
    <Screen title={title}>
      <Stack maw="44rem" gap="lg">
        {isFirst && <Text size="lg">{texts.start.lead}</Text>}
        <Paper withBorder p="lg">
          <form onSubmit={submit} noValidate>
            <Stack>
              <Group align="flex-end" gap="sm">
                <TextInput
                  style={{ flex: '1 1 16rem' }}
                  size="md"
                  label={texts.start.address}
                  placeholder={texts.start.placeholder}
                  type="url"
                  inputMode="url"
                  autoCapitalize="none"
                  autoCorrect="off"
                  spellCheck={false}
                  autoFocus
                  value={typed}
                  onChange={(event) => setTyped(event.currentTarget.value)}
                  error={fieldError}
                />
                <Button
                  type="submit"
                  size="md"
                  loading={crawl.isPending}
                  leftSection={<Play />}
                  style={fieldError ? { alignSelf: 'flex-start', marginTop: '1.6rem' } : undefined}
                >
                  {texts.start.button}
                </Button>
              </Group>
              {refused && (
                <Text size="sm" c="dimmed">
                  {texts.start.refusedHint}
                </Text>
              )}
              {exists && (
                <Anchor component={Link} href="/" size="sm">
                  {texts.start.showChannels}
                </Anchor>
              )}
              {crawl.error && !refused && !invalid && !exists && <Failure error={crawl.error} />}
              <Switch
                label={texts.start.keep}
                description={texts.start.keepHint}
                checked={isKept}
                onChange={(event) => setKept(event.currentTarget.checked)}
              />
              <div>
                <Title order={2} size="h6" mb={4}>
                  {texts.start.what}
                </Title>
                <List size="sm" spacing={2}>
                  <List.Item>{texts.start.pages(pages)}</List.Item>
                  <List.Item>{texts.start.robots}</List.Item>
                  <List.Item>{texts.start.redacted}</List.Item>
                  <List.Item>{texts.start.stays}</List.Item>
                </List>
              </div>
              <div>
                <Button variant="default" size="xs" onClick={options.toggle} aria-expanded={hasOptions} aria-controls="crawl-options">
                  {texts.start.options}
                </Button>
                <Collapse expanded={hasOptions} id="crawl-options">
                  <Stack pt="sm" gap="sm">
                    <Group grow align="flex-start" preventGrowOverflow={false}>
                      <NumberInput label={texts.start.maxPages} value={typedPages === '' ? pages : typedPages} onChange={setPages} min={1} max={isKept ? most : 1_000_000} />
                      <NumberInput label={texts.start.maxDepth} value={typedDepth === '' ? depth : typedDepth} onChange={setDepth} min={0} max={isKept ? 100 : 1000} />
                    </Group>
                    {isKept ? (
                      <Text size="sm" c="dimmed">
                        {texts.start.sameOrigin}
                      </Text>
                    ) : (
                      <>
                        <NativeSelect
                          label={texts.start.scope}
                          value={scope}
                          onChange={(event) => setScope(event.currentTarget.value)}
                          data={SCOPES.map((value) => ({ value, label: texts.start.scopes[value] }))}
                        />
                        <Switch
                          label={texts.start.documents}
                          checked={documents}
                          onChange={(event) => setDocuments(event.currentTarget.checked)}
                        />
                      </>
                    )}
                  </Stack>
                </Collapse>
              </div>
            </Stack>
          </form>
        </Paper>
        {session.has_demo && (
          <Group gap="sm">
            <div style={{ flex: '1 1 14rem' }}>
              <Text fw={600}>{texts.start.example}</Text>
              <Text size="sm" c="dimmed">
                {texts.start.exampleHint}
              </Text>
            </div>
            <Button variant="default" loading={example.isPending} onClick={() => example.mutate()}>
              {texts.start.exampleButton}
            </Button>
          </Group>
        )}
        {example.error && <Failure error={example.error} />}
        {isFirst && runs > 0 && (
          <Anchor component={Link} href="/runs">
            {texts.start.showRuns(runs)}
          </Anchor>
        )}
      </Stack>
    </Screen>
  )
}
