import { Alert, Button, Center, Group, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { ApiError, signIn } from '../api/client'
import * as queries from '../api/queries'
import { message } from '../parts/frames'
import { Logo } from '../parts/icons'
import { texts } from '../texts'

export function SignInScreen({ notice }: { notice?: 'ended' | 'expired' }) {
  useDocumentTitle(`${texts.signIn.title} · ${texts.product}`)
  const client = useQueryClient()
  const [token, setToken] = useState('')
  const attempt = useMutation({
    mutationFn: () => signIn(token.trim()),
    onSuccess: (session) => client.setQueryData(queries.session.queryKey, session),
  })
  const wrong = attempt.error instanceof ApiError && attempt.error.status === 401

  function submit(event: FormEvent) {
    event.preventDefault()
    if (token.trim()) attempt.mutate()
  }

  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw="26rem">
        <form onSubmit={submit}>
          <Stack>
            <Group gap="sm">
              <Logo />
              <Title order={1} size="h3">
                {texts.signIn.title}
              </Title>
            </Group>
            {notice && (
              <Alert color="yellow" variant="outline" role="alert">
                <Text size="sm">{texts.signIn[notice]}</Text>
              </Alert>
            )}
            <Text c="dimmed" size="sm">
              {texts.signIn.hint}
            </Text>
            <PasswordInput
              label={texts.signIn.token}
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              error={attempt.error && (wrong ? texts.signIn.wrong : message(attempt.error))}
              autoComplete="current-password"
              data-autofocus
              autoFocus
            />
            <Button type="submit" loading={attempt.isPending}>
              {texts.signIn.button}
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}
