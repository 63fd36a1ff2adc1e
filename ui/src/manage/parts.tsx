/** Parts that the screens of the operator and of the account share: tabs, confirmations, secrets that are shown once. */
import { Button, Code, Group, Modal, Pagination, Stack, Tabs, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useAddressState } from '../parts/filters'
import { Failure } from '../parts/frames'
import { TabStrip } from '../parts/tabs'
import { SecretOnce } from '../parts/SecretOnce'
import { texts } from '../texts'

/** Wide enough for a date with its time, whatever the width of the window. */
export const TIME = '12rem'

/** Where a list begins; the address holds the number of its page. */
export function useListPage(perPage: number): number {
  const [parameters] = useAddressState()
  return (Math.max(1, Number(parameters.get('page')) || 1) - 1) * perPage
}

export function Pages({ total, perPage }: { total: number; perPage: number }) {
  const [parameters, change] = useAddressState()
  if (total <= perPage) return null
  return (
    <Pagination
      total={Math.ceil(total / perPage)}
      value={Math.max(1, Number(parameters.get('page')) || 1)}
      onChange={(page) => change({ page: page === 1 ? '' : String(page) })}
      getControlProps={(control) => ({ 'aria-label': control })}
    />
  )
}

interface TabsOfScreenProps {
  base: string
  shown: string
  names: Record<string, string>
  label: string
  children: ReactNode
}

/** Tabs that are screens of their own; the first has the address `base`. */
export function TabsOfScreen({ base, shown, names, label, children }: TabsOfScreenProps) {
  const [, go] = useLocation()
  const first = Object.keys(names)[0]
  return (
    <Tabs value={shown} onChange={(value) => go(value === first ? base : `${base}/${value}`)} keepMounted={false}>
      <TabStrip label={label} names={names} shown={shown} />
      <Tabs.Panel value={shown}>{children}</Tabs.Panel>
    </Tabs>
  )
}

interface ConfirmationProps {
  title: string
  text: ReactNode
  action: string
  /** What a person must type before the button works. */
  typed?: string
  isBusy: boolean
  error: unknown
  onConfirm: () => void
  onClose: () => void
}

export function Confirmation({ title, text, action, typed, isBusy, error, onConfirm, onClose }: ConfirmationProps) {
  const [input, setInput] = useState('')
  return (
    <Modal opened onClose={onClose} title={title} centered closeButtonProps={{ 'aria-label': texts.node.close }}>
      <Stack>
        <Text>{text}</Text>
        {typed !== undefined && (
          <TextInput
            label={texts.manage.typeName(typed)}
            value={input}
            onChange={(event) => setInput(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        )}
        {error !== null && <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus={typed === undefined ? true : undefined}>
            {texts.manage.cancel}
          </Button>
          <Button color="red.9" loading={isBusy} disabled={typed !== undefined && input !== typed} onClick={onConfirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** A secret that is shown only this once. It closes by its button alone, so that no stray click loses the secret. */
export function SecretDialog({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title={title} centered size="lg" withCloseButton={false} closeOnClickOutside={false} closeOnEscape={false}>
      <Stack>
        <SecretOnce secret={secret} title={texts.manage.copyNow} hint={texts.manage.secretOnce} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{texts.manage.secretStored}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** A command for the shell. */
export function Command({ children }: { children: string }) {
  return (
    <Code block style={{ whiteSpace: 'pre-wrap' }}>
      {children}
    </Code>
  )
}
