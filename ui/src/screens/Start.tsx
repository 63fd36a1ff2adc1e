/** The first start, and every new crawl: one field, what will happen, and a button. */
import { Button, Collapse, Group, List, NativeSelect, NumberInput, Paper, Stack, Switch, Text, TextInput, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { ApiError, post, type Run, type Session } from '../api/client'
import { Failure, message, Screen } from '../parts/frames'
import { Play } from '../parts/icons'
import { texts } from '../texts'

const SCOPES = ['host', 'origin', 'domain', 'prefix'] as const
const DEFAULT_PAGES = 500
const DEFAULT_DEPTH = 25

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

export function StartScreen({ session, isFirst = false }: { session: Session; isFirst?: boolean }) {
  const [parameters] = useSearchParams()
  const [typed, setTyped] = useState(parameters.get('url') ?? '')
  const [pages, setPages] = useState<number | string>(DEFAULT_PAGES)
  const [depth, setDepth] = useState<number | string>(DEFAULT_DEPTH)
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
  const crawl = useMutation({
    mutationFn: (seedUrl: string) =>
      post<Run>('/crawl-runs', {
        seedUrl,
        settings: {
          maxPages: Number(pages) || DEFAULT_PAGES,
          maxDepth: depth === '' ? DEFAULT_DEPTH : Number(depth),
          scopeMode: scope,
          includeDocuments: documents,
        },
      }),
    onSuccess: show,
  })
  const example = useMutation({ mutationFn: () => post<Run>('/demo'), onSuccess: show })

  function submit(event: FormEvent) {
    event.preventDefault()
    crawl.reset()
    const url = completed(typed)
    setProblem(typed.trim() === '' ? texts.start.empty : url === undefined ? texts.start.invalid : '')
    if (url !== undefined && typed.trim()) crawl.mutate(url)
  }

  const refused = crawl.error instanceof ApiError && crawl.error.code === 'address-refused'
  const invalid = crawl.error instanceof ApiError && crawl.error.code === 'invalid'
  const fieldError =
    problem ||
    (refused ? texts.start.refused(message(crawl.error).replace(/\.$/, '')) : invalid ? texts.start.invalid : undefined)
  const title = isFirst ? texts.start.title : texts.start.again

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
              {crawl.error && !refused && !invalid && <Failure error={crawl.error} />}
              <div>
                <Title order={2} size="h6" mb={4}>
                  {texts.start.what}
                </Title>
                <List size="sm" spacing={2}>
                  <List.Item>{texts.start.pages(Number(pages) || DEFAULT_PAGES)}</List.Item>
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
                      <NumberInput label={texts.start.maxPages} value={pages} onChange={setPages} min={1} max={1_000_000} />
                      <NumberInput label={texts.start.maxDepth} value={depth} onChange={setDepth} min={0} max={1000} />
                    </Group>
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
      </Stack>
    </Screen>
  )
}
