/** What belongs to a channel: fixed rules, patterns, and a field that tells whether a URL would be crawled. */
import { List, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import * as api from '../api/channels'
import type { Channel, Explanation } from '../api/channels'
import { Loading, message, Section } from '../parts/frames'
import { StateLabel } from '../parts/states'
import { Gates } from '../screens/Node'
import { completed } from '../screens/Start'
import { texts } from '../texts'
import type { Change, Fields } from './Settings'

const words = texts.scope
const TYPING_MS = 400
// The other checks depend on what a crawl finds, not on the settings.
const DECISIVE = ['address', 'scope', 'depth', 'trap', 'robots']

interface ScopeSectionProps {
  channel: Channel
  value: Fields
  set: Change
  /** Whether something is changed that is not saved: the tester uses what is saved. */
  isChanged: boolean
}

export function ScopeSection({ channel, value, set, isChanged }: ScopeSectionProps) {
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed.trim(), TYPING_MS)
  const url = text.startsWith('/') ? new URL(text, channel.url).href : text && completed(text)
  const explanation = useQuery(api.explanation(channel.id, url ?? ''))
  return (
    <Section title={words.title}>
      <Stack gap="sm">
        <List size="sm" spacing={2}>
          <List.Item>{words.origin(new URL(channel.url).origin)}</List.Item>
          <List.Item>{words.depth(channel.maxDepth)}</List.Item>
          <List.Item>{words.robots}</List.Item>
        </List>
        {(['include', 'exclude'] as const).map((name) => (
          <Textarea
            key={name}
            label={texts.channelSettings.fields[name]}
            description={words.patterns[name]}
            placeholder={words.examples[name]}
            autosize
            minRows={1}
            maxRows={6}
            spellCheck={false}
            value={value[name].join('\n')}
            onChange={(event) => set(name, event.currentTarget.value.split('\n').map((line) => line.trimStart()).filter((line, index, all) => line !== '' || index === all.length - 1))}
            onBlur={() => set(name, value[name].map((line) => line.trim()).filter(Boolean))}
          />
        ))}
        <TextInput
          label={words.test}
          description={isChanged ? words.saved : undefined}
          placeholder={words.placeholder}
          spellCheck={false}
          autoCapitalize="none"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          error={text && (url === undefined ? texts.start.invalid : explanation.error ? message(explanation.error) : undefined)}
        />
        {url && explanation.isPending && <Loading height="3rem" />}
        {url && explanation.data && <Verdict explanation={explanation.data} />}
      </Stack>
    </Section>
  )
}

function Verdict({ explanation }: { explanation: Explanation }) {
  const gates = explanation.gates.filter((gate) => DECISIVE.includes(gate.gate))
  const refused = gates.some((gate) => gate.passed === false)
  return (
    <Stack gap="sm" role="status">
      <div>
        <StateLabel tone={refused ? 'bad' : 'good'} word={refused ? words.no : words.yes} />
        <Text size="sm" c="dimmed" mt={4}>
          {explanation.row ? words.known(texts.urlState[explanation.row.status]) : words.unknown}
        </Text>
      </div>
      <Gates explanation={{ ...explanation, gates }} />
    </Stack>
  )
}
