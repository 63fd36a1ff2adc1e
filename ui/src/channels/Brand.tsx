/** The brand of the tenant: what crawls have detected, and what a person has entered, which comes first. */
import { Button, ColorInput, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import * as api from '../api/channels'
import type { Brand, Channel } from '../api/channels'
import { patch } from '../api/client'
import { Failure, Loading, Section } from '../parts/frames'
import { StateLabel } from '../parts/states'
import { percent, Time } from '../parts/values'
import { texts } from '../texts'

const words = texts.brand
// Names of values in `entered` and `detected`, by their names in requests and responses.
const STORED = {
  primaryColor: 'primary_color',
  secondaryColor: 'secondary_color',
  fontPrimary: 'font_primary',
  fontSecondary: 'font_secondary',
  logo: 'logo',
  favicon: 'favicon',
} as const
type Field = keyof typeof STORED
const FIELDS = Object.keys(STORED) as Field[]

export function BrandSection({ channel }: { channel: Channel }) {
  const brand = useQuery(api.brand)
  return (
    <Section title={words.title}>
      {brand.isLoadingError ? (
        <Failure error={brand.error} retry={() => void brand.refetch()} />
      ) : brand.isPending ? (
        <Loading height="4rem" />
      ) : (
        <BrandForm brand={brand.data} channel={channel} />
      )}
    </Section>
  )
}

function BrandForm({ brand, channel }: { brand: Brand; channel: Channel }) {
  const client = useQueryClient()
  const [draft, setDraft] = useState<Partial<Record<Field, string>>>({})
  const changed = FIELDS.filter((field) => draft[field] !== undefined && draft[field] !== (brand[field] ?? ''))
  const save = useMutation({
    mutationFn: (changes: Partial<Record<Field, string | null>>) => patch<Brand>('/tenant/v1/brand', changes),
    onSuccess: (saved, changes) => {
      client.setQueryData(api.brand.queryKey, saved)
      setDraft((before) => Object.fromEntries(Object.entries(before).filter(([name]) => !(name in changes))))
    },
  })
  return (
    <Stack>
      <Text size="sm">{words.hint}</Text>
      <Text size="sm" c="dimmed">
        {brand.detectedAt ? (
          <>
            {words.detected(percent(brand.confidence))} <Time value={brand.detectedAt} />
            {brand.channelId !== null && brand.channelId !== channel.id && ` ${words.elsewhere}`}
          </>
        ) : (
          words.nothing
        )}
      </Text>
      <Preview channel={channel} brand={{ ...brand, ...draft }} />
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
      {FIELDS.map((field) => (
        <BrandField
          key={field}
          field={field}
          value={draft[field] ?? brand[field] ?? ''}
          isEntered={brand.entered.includes(STORED[field])}
          detected={brand.detected[STORED[field]]}
          source={brand.sources[STORED[field]]}
          set={(value) => setDraft((before) => ({ ...before, [field]: value }))}
          reset={() => save.mutate({ [field]: null })}
        />
      ))}
      </SimpleGrid>
      {save.error && <Failure error={save.error} />}
      <Group>
        <Button
          disabled={changed.length === 0}
          loading={save.isPending}
          onClick={() => save.mutate(Object.fromEntries(changed.map((field) => [field, draft[field] || null])))}
        >
          {words.save}
        </Button>
        {changed.length > 0 && (
          <Button variant="default" onClick={() => setDraft({})}>
            {texts.channelSettings.discard}
          </Button>
        )}
      </Group>
    </Stack>
  )
}

/** The logo and icon as they are stored, the colours, and the names of the fonts. */
function Preview({ channel, brand }: { channel: Channel; brand: Record<Field, string | null> }) {
  const fonts = [brand.fontPrimary, brand.fontSecondary].filter(Boolean)
  const isEmpty = FIELDS.every((field) => !brand[field])
  if (isEmpty) return null
  return (
    <div className="brand" role="group" aria-label={words.preview}>
      {(['logo', 'favicon'] as const).map((field) => brand[field] && <StoredPicture key={field} channel={channel} url={brand[field]} name={words.fields[field]} />)}
      {(['primaryColor', 'secondaryColor'] as const).map(
        (field) =>
          brand[field] && (
            <Group key={field} gap="xs" wrap="nowrap">
              <span className="swatch" style={{ background: brand[field] }} />
              <div>
                <Text size="sm">{words.fields[field]}</Text>
                <Text size="sm" c="dimmed">
                  {brand[field]}
                </Text>
              </div>
            </Group>
          ),
      )}
      {fonts.length > 0 && (
        <div>
          <Text size="sm">{words.fonts}</Text>
          <Text size="sm" c="dimmed">
            {fonts.join(', ')}
          </Text>
        </div>
      )}
    </div>
  )
}

/** A picture of the website, if the channel has stored it: no other host is asked for it. */
function StoredPicture({ channel, url, name }: { channel: Channel; url: string; name: string }) {
  const media = useQuery(api.media(channel.id, { mediaType: 'IMAGE', q: url.slice(0, 200) }, 0))
  const file = media.data?.media.find((each) => each.sourceUrl === url && each.thumbnailUrl?.startsWith('/tenant/'))
  return file?.thumbnailUrl ? <img className="brand-picture" src={file.thumbnailUrl} alt={name} /> : null
}

interface BrandFieldProps {
  field: Field
  value: string
  isEntered: boolean
  detected: string | undefined
  source: string | undefined
  set: (value: string) => void
  reset: () => void
}

function BrandField({ field, value, isEntered, detected, source, set, reset }: BrandFieldProps) {
  const label = words.fields[field]
  const isColour = field.endsWith('Color')
  const note = detected ? words.detectedValue(detected, source ?? '') : words.noDetected
  return (
    <Group align="flex-end" gap="sm">
      <div style={{ flex: '1 1 16rem', maxWidth: '30rem', minWidth: 0 }}>
        {isColour ? (
          <ColorInput label={label} description={note} value={value} onChange={set} format="hex" closeOnColorSwatchClick eyeDropperButtonProps={{ 'aria-label': words.pick }} />
        ) : (
          <TextInput label={label} description={note} value={value} onChange={(event) => set(event.currentTarget.value)} />
        )}
      </div>
      {(isEntered || value !== '') && (
        <Group gap="xs" mih="2.25rem">
          <StateLabel tone={isEntered ? 'other' : 'plain'} word={isEntered ? words.entered : words.isDetected} />
          {isEntered && (
            <Button variant="default" size="xs" onClick={reset} aria-label={words.resetOne(label)}>
              {words.reset}
            </Button>
          )}
        </Group>
      )}
    </Group>
  )
}
