/** A new secret, which the server does not show again. */
import { Alert, Button, CopyButton, Group, Stack, Text } from '@mantine/core'
import { Check, Copy } from './icons'
import { texts } from '../texts'

interface SecretProps {
  secret: string
  title?: string
  hint?: string
}

export function SecretOnce({ secret, title = texts.webhooks.secretTitle, hint = texts.webhooks.secretHint }: SecretProps) {
  return (
    <Alert color="yellow" variant="outline" title={title} role="status" w="100%">
      <Stack gap="xs">
        <Text size="sm">{hint}</Text>
        <Group gap="xs">
          <code style={{ overflowWrap: 'anywhere' }}>{secret}</code>
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <Button size="compact-sm" variant="default" leftSection={copied ? <Check /> : <Copy />} onClick={copy}>
                {copied ? texts.page.copied : texts.page.copy}
              </Button>
            )}
          </CopyButton>
        </Group>
      </Stack>
    </Alert>
  )
}
