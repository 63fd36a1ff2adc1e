/** Images, videos and documents of a channel: a grid by type, and a dialog with the file, what compression saved, and its pages. */
import { Anchor, Button, Group, Modal, NativeSelect, Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import * as api from '../api/channels'
import type { Channel, Media, MediaDetail, MediaType, Statistics } from '../api/channels'
import { address, every, get, remove } from '../api/client'
import { DownloadButtons } from '../parts/downloads'
import { useAddressState } from '../parts/filters'
import { Empty, Facts, Failure, Loading } from '../parts/frames'
import { Download, Film, Picture, Play, Sheet } from '../parts/icons'
import { ListBar, Pager } from '../parts/table'
import { bytes, percent, shownPath, shownUrl, WebLink } from '../parts/values'
import { texts } from '../texts'

const TYPES: readonly MediaType[] = ['IMAGE', 'VIDEO', 'DOCUMENT']
/** Ways to sort, with the direction that is useful. */
const SORTS = [
  ['added', 'asc'],
  ['name', 'asc'],
  ['size', 'desc'],
  ['saved', 'desc'],
] as const
const ICONS = { IMAGE: Picture, VIDEO: Film, DOCUMENT: Sheet }
const PLAYERS: Record<string, string> = {
  YOUTUBE: 'https://www.youtube-nocookie.com/embed/',
  VIMEO: 'https://player.vimeo.com/video/',
}
// The server sends these to be shown, and everything else to be saved.
const SHOWN = /^image\/(jpeg|png|webp|gif|avif)$/

interface MediaTabProps {
  channel: Channel
  figures: Statistics | undefined
  isActive: boolean
}

export function MediaTab({ channel, figures, isActive }: MediaTabProps) {
  const [parameters, change] = useAddressState()
  const type = TYPES.find((each) => each === parameters.get('type')) ?? ''
  const offset = Math.max(0, Number(parameters.get('offset')) || 0)
  const shown = parameters.get('file')
  const [sort, order] = SORTS.find((each) => each.join('-') === parameters.get('sort')) ?? SORTS[0]
  const filter: api.MediaFilter = { mediaType: type, q: parameters.get('q') ?? '', sort, order }
  const media = useQuery(api.media(channel.id, filter, offset))
  if (media.isPending) return <Loading />
  if (media.isLoadingError) return <Failure error={media.error} retry={() => void media.refetch()} />
  const { pagination } = media.data
  const counts: Record<string, number | undefined> = {
    '': figures?.media.total,
    IMAGE: figures?.media.images,
    VIDEO: figures?.media.videos,
    DOCUMENT: figures?.media.documents,
  }
  return (
    <Stack gap="sm">
      <ListBar
        label={texts.media.filter}
        text={filter.q ?? ''}
        setText={(q) => change({ q, offset: '' })}
        range={{ offset, shown: media.data.media.length, total: pagination.total }}
        isFiltered={filter.q !== '' || type !== ''}
        clear={() => change({ q: '', type: '', offset: '' })}
        downloads={
          <Group gap="xs">
            <NativeSelect
              size="xs"
              aria-label={texts.media.sort}
              value={`${sort}-${order}`}
              onChange={(event) => change({ sort: event.currentTarget.value === 'added-asc' ? '' : event.currentTarget.value, offset: '' })}
              data={SORTS.map(([by, direction]) => ({ value: `${by}-${direction}`, label: texts.media.sorts[by] }))}
            />
            <DownloadButtons name={`${channel.site}-media`} load={() => allMedia(channel.id, filter)} />
          </Group>
        }
      >
        <Group gap={6} role="group" aria-label={texts.media.type}>
          {(['', ...TYPES] as const).map((each) => (
            <button
              key={each}
              type="button"
              className="facet"
              aria-pressed={type === each}
              onClick={() => change({ type: each, offset: '' })}
            >
              {texts.media.types[each]}
              {counts[each] !== undefined && <span className="count">{counts[each]?.toLocaleString()}</span>}
            </button>
          ))}
        </Group>
      </ListBar>
      {media.data.media.length === 0 ? (
        <Nothing channel={channel} isFiltered={type !== '' || filter.q !== ''} isActive={isActive} />
      ) : (
        <>
          <ul className="media-grid">
            {media.data.media.map((file) => (
              <li key={file.id}>
                <Card file={file} open={() => change({ file: file.id })} />
              </li>
            ))}
          </ul>
          <Pager
            offset={offset}
            size={api.MEDIA_PER_PAGE}
            hasMore={pagination.hasMore}
            onChange={(to) => change({ offset: to })}
          />
        </>
      )}
      <Lightbox channel={channel} file={shown} files={media.data.media} show={(file) => change({ file })} />
    </Stack>
  )
}

function allMedia(channel: string, filter: api.MediaFilter) {
  return every(async (offset) => {
    const part = await get<api.MediaList>(api.channelPath(channel, 'webcrawl/media'), { ...filter, limit: api.LIST_LIMIT, offset })
    return { items: part.media, hasMore: part.pagination.hasMore }
  })
}

function Nothing({ channel, isFiltered, isActive }: { channel: Channel; isFiltered: boolean; isActive: boolean }) {
  if (!channel.includeMedia) {
    return (
      <Empty title={texts.media.off}>
        <Anchor component={Link} href={`/channels/${channel.id}/settings`}>
          {texts.channel.tabs.settings}
        </Anchor>
      </Empty>
    )
  }
  return <Empty title={isFiltered ? texts.media.noneOfType : isActive ? texts.media.noneYet : texts.media.none} />
}

/** A picture that this server keeps and browsers can show. */
export function isShownPicture<File extends Media>(file: File): file is File & { storageUrl: string } {
  return file.mediaType === 'IMAGE' && isOwn(file.storageUrl) && SHOWN.test(file.mimeType)
}

export function Card({ file, open }: { file: Media; open: () => void }) {
  const Icon = ICONS[file.mediaType]
  const [isBroken, setBroken] = useState(false)
  return (
    <button type="button" className="media-card" onClick={open}>
      <span className="media-picture">
        {isOwn(file.thumbnailUrl) && !isBroken ? (
          <img src={file.thumbnailUrl} alt="" loading="lazy" decoding="async" onError={() => setBroken(true)} />
        ) : (
          <Icon size={34} />
        )}
      </span>
      <span className="media-text">
        <span className="one-line" title={file.fileName}>
          {nameOf(file)}
        </span>
        <Text component="span" size="xs" c="dimmed">
          {(file.videoProvider && texts.media.providers[file.videoProvider]) || texts.media.kinds[file.mediaType]}
          {file.fileSizeBytes > 0 && ` · ${bytes(file.fileSizeBytes)}`}
        </Text>
        <Text component="span" size="xs" c="dimmed">
          {texts.media.usedOn(file.usageCount)}
        </Text>
      </span>
    </button>
  )
}

/** Videos of other hosts have an id for a file name; their title says more. */
function nameOf(file: Media): string {
  return (file.videoId && file.altText) || file.fileName || shownPath(file.sourceUrl)
}

/** Whether an address is one of this server: others are never loaded. */
function isOwn(url: string | null): url is string {
  return url !== null && url.startsWith('/') && !url.startsWith('//')
}

interface LightboxProps {
  channel: Channel
  file: string | null
  /** The files of the list, through which the arrow keys go. */
  files: readonly Media[]
  /** Shows another file; none with an empty id. */
  show: (file: string) => void
}

export function Lightbox({ channel, file, files, show }: LightboxProps) {
  const detail = useQuery({ ...api.mediaDetail(channel.id, file ?? ''), enabled: file !== null, placeholderData: keepPreviousData })
  const at = files.findIndex((each) => each.id === file)
  const go = (step: number) => {
    const next = at < 0 ? undefined : files[at + step]
    if (next) show(next.id)
  }
  return (
    <Modal
      opened={file !== null}
      onClose={() => show('')}
      size="xl"
      title={detail.data ? nameOf(detail.data) : texts.media.title}
      closeButtonProps={{ 'aria-label': texts.node.close }}
      styles={{ title: { overflowWrap: 'anywhere' } }}
      onKeyDown={(event) => {
        if ((event.target as Element).closest('pre, ul')) return // they scroll
        if (event.key === 'ArrowLeft') go(-1)
        if (event.key === 'ArrowRight') go(1)
      }}
    >
      {files.length > 1 && (
        <Group gap="xs" mb="sm">
          <Button size="compact-sm" variant="default" disabled={at <= 0} onClick={() => go(-1)}>
            ← {texts.media.previous}
          </Button>
          <Button size="compact-sm" variant="default" disabled={at < 0 || at >= files.length - 1} onClick={() => go(1)}>
            {texts.media.next} →
          </Button>
        </Group>
      )}
      {detail.error ? (
        <Failure error={detail.error} />
      ) : detail.data ? (
        <FileDetail key={detail.data.id} channel={channel} file={detail.data} close={() => show('')} />
      ) : (
        <Loading />
      )}
    </Modal>
  )
}

function FileDetail({ channel, file, close }: { channel: Channel; file: MediaDetail; close: () => void }) {
  const client = useQueryClient()
  const act = useMutation({
    mutationFn: () => remove(api.channelPath(channel.id, `webcrawl/media/${encodeURIComponent(file.id)}`)),
    onSuccess: async () => {
      close()
      await client.invalidateQueries({ queryKey: ['channel', channel.id] })
    },
  })
  return (
    <Stack>
      <Preview file={file} />
      {file.errorMessage && <Text c="var(--mantine-color-error)">{file.errorMessage}</Text>}
      <Facts
        items={[
          file.fileSizeBytes > 0 && [texts.media.size, <strong>{sizes(file)}</strong>],
          file.width !== null && [texts.media.dimensions, `${file.width} × ${file.height}`],
          [texts.media.kind, file.mimeType],
          file.altText !== '' && [texts.media.alt, file.altText],
          [texts.media.source, <WebLink url={file.sourceUrl}>{shownUrl(file.sourceUrl)}</WebLink>],
        ]}
      />
      {file.extractedText && (
        <div>
          <Title order={3} size="h6" mb={4}>
            {texts.media.text}
          </Title>
          <pre className="source" style={{ maxHeight: '14rem' }} tabIndex={0}>
            {file.extractedText}
          </pre>
        </div>
      )}
      <Uses channel={channel.id} file={file} />
      {act.error && <Failure error={act.error} />}
      <Group justify="space-between">
        {file.storageUrl ? (
          <Button component="a" href={file.storageUrl} download={file.fileName} variant="default" leftSection={<Download />}>
            {texts.media.download}
          </Button>
        ) : (
          <span />
        )}
        <Stack gap={4} align="flex-end">
          <Button
            color="red.9"
            disabled={file.usageCount > 0}
            loading={act.isPending}
            onClick={() => act.mutate()}
            aria-describedby={file.usageCount > 0 ? 'media-used' : undefined}
          >
            {texts.media.delete}
          </Button>
          {file.usageCount > 0 && (
            <Text size="xs" c="dimmed" id="media-used">
              {texts.media.used(file.usageCount)}
            </Text>
          )}
        </Stack>
      </Group>
    </Stack>
  )
}

/** `2.4 MB → 1.1 MB (54 % saved)`; one size where compression saved nothing. */
function sizes(file: Media): string {
  if (file.compressionRatio <= 0) return bytes(file.fileSizeBytes)
  return texts.media.sizes(bytes(file.originalFileSizeBytes), bytes(file.fileSizeBytes), percent(file.compressionRatio))
}

function Preview({ file }: { file: MediaDetail }) {
  if (file.mediaType === 'VIDEO') return <Video file={file} />
  if (file.mediaType !== 'IMAGE' || !isOwn(file.storageUrl)) return null
  if (!isShownPicture(file)) return <Text c="dimmed">{texts.media.notShown}</Text>
  return <img className="lightbox" src={file.storageUrl} alt={file.altText || texts.media.noAlt} />
}

/** A video, which is loaded after a click only: a player of another host would learn who looks at it. */
function Video({ file }: { file: MediaDetail }) {
  const [isOpen, setOpen] = useState(false)
  const player = PLAYERS[file.videoProvider ?? '']
  if (!player) return <Text c="dimmed">{texts.media.localVideo}</Text>
  if (!isOpen) {
    return (
      <button type="button" className="media-card" onClick={() => setOpen(true)}>
        <span className="media-picture" style={{ aspectRatio: '16 / 9' }}>
          <Group gap="xs" justify="center" p="md">
            <Play size={28} />
            <Text component="span">{texts.media.load(texts.media.providers[file.videoProvider ?? ''] ?? '')}</Text>
          </Group>
        </span>
      </button>
    )
  }
  return (
    <iframe
      className="player"
      src={`${player}${encodeURIComponent(file.videoId ?? '')}`}
      title={file.altText || file.fileName || texts.media.title}
      sandbox="allow-scripts allow-same-origin allow-presentation"
      referrerPolicy="strict-origin"
      allowFullScreen
    />
  )
}

function Uses({ channel, file }: { channel: string; file: MediaDetail }) {
  return (
    <div>
      <Title order={3} size="h6" mb={4}>
        {texts.media.usedOn(file.usageCount)}
      </Title>
      {file.pages.length > 0 && (
        <ul style={{ margin: 0, paddingLeft: '1.2rem', maxHeight: '12rem', overflowY: 'auto' }} tabIndex={0} aria-label={texts.media.usedOn(file.usageCount)}>
          {file.pages.map((page) => (
            <li key={`${page.webPageId}-${page.position}`}>
              <Anchor component={Link} href={address(`/channels/${channel}/pages`, { q: page.url })} size="sm">
                {page.title || shownPath(page.url)}
              </Anchor>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
