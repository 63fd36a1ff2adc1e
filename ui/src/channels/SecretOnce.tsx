/** A new secret, which the server does not show again. */
import { Alert, Button, CopyButton, Group, Stack, Text } from '@mantine/core'
import { Check, Copy } from '../parts/icons'
import { texts } from '../texts'

export function SecretOnce({ secret }: { secret: string }) {
  return (
    <Alert color="yellow" variant="outline" title={texts.webhooks.secretTitle} role="status" w="100%">
      <Stack gap="xs">
        <Text size="sm">{texts.webhooks.secretHint}</Text>
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
