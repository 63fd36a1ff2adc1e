/** The frame of the dashboard: sign-in, navigation, and which screen an address shows. */
import { ActionIcon, Anchor, AppShell, Burger, Container, Group, NavLink, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { Link, Route, Router, Switch, useLocation, useSearch } from 'wouter'
import { ApiError, signInWithCode, signOut, type Session } from './api/client'
import * as queries from './api/queries'
import { Boundary, Failure, Loading, Missing } from './parts/frames'
import { ConnectionNotice } from './parts/connection'
import { Gear, Globe, Leave, List, Logo, Moon, Pages, Person, Search, Sun } from './parts/icons'
import { ChannelsScreen } from './channels/Channels'
import { NewestPage } from './page/NewestPage'
import { RunScreen } from './screens/Run'
import { RunsScreen } from './screens/Runs'
import { SearchScreen } from './screens/Search'
import { SignInScreen } from './screens/SignIn'
import { SitesScreen } from './screens/Sites'
import { StartScreen } from './screens/Start'
import { texts } from './texts'

const AccountScreen = lazy(() => import('./manage/Account'))
const ManageScreen = lazy(() => import('./manage/Manage'))
const ChannelScreen = lazy(() => import('./channels/Channel'))
const PageScreen = lazy(() => import('./page/Page'))
const IssuesScreen = lazy(() => import('./audit/Issues'))
const InsightsScreen = lazy(() => import('./audit/Insights'))

export function App() {
  const login = useLoginFromLink()
  const session = useQuery({ ...queries.session, enabled: login !== 'working' })

  if (login === 'working' || session.isPending) return <Loading height="100vh" />
  if (session.error instanceof ApiError && session.error.status === 401) {
    return <SignInScreen notice={session.data ? 'ended' : login === 'expired' ? 'expired' : undefined} />
  }
  if (session.isLoadingError) {
    return (
      <Container component="main" size="xs" py="xl">
        <Failure error={session.error} retry={() => void session.refetch()} />
      </Container>
    )
  }
  return (
    <Router base="/ui">
      <Shell session={session.data} />
    </Router>
  )
}

type Login = 'none' | 'working' | 'done' | 'expired'

// The code is for one use: React may run an effect twice, so it is taken from the address before the first one.
const code = new URLSearchParams(location.hash.slice(1)).get('login')
if (code) history.replaceState(null, '', location.pathname + location.search)
let exchanged: Promise<unknown> | undefined

/** Exchanges the one-time login in the fragment of the address for a session. */
function useLoginFromLink(): Login {
  const [login, setLogin] = useState<Login>(code ? 'working' : 'none')
  const client = useQueryClient()
  useEffect(() => {
    if (!code) return
    exchanged ??= signInWithCode(code).then((session) => client.setQueryData(queries.session.queryKey, session))
    exchanged.then(
      () => setLogin('done'),
      () => setLogin('expired'),
    )
  }, [client])
  return login
}

function Shell({ session }: { session: Session }) {
  const [isOpen, menu] = useDisclosure()
  const [place] = useLocation()
  useFocusOnScreens(place)
  const running = useQuery(queries.runningRuns)
  const count = running.data?.pagination.total ?? 0
  const entries = [
    { href: '/', label: texts.nav.channels, Icon: Globe, active: place === '/' || place.startsWith('/channels') || place === '/new' },
    { href: '/runs', label: texts.nav.runs, Icon: List, active: place.startsWith('/runs') },
    { href: '/search', label: texts.nav.search, Icon: Search, active: place.startsWith('/search') },
    { href: '/sites', label: texts.nav.sites, Icon: Pages, active: place.startsWith('/sites') },
    ...(session.scopes.includes('manage:tenant')
      ? [{ href: '/account', label: texts.nav.account, Icon: Person, active: place.startsWith('/account') }]
      : []),
    ...(session.scopes.includes('admin')
      ? [{ href: '/manage', label: texts.nav.manage, Icon: Gear, active: place.startsWith('/manage') }]
      : []),
  ]
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a className="skip-link" href="#content">
        {texts.skipToContent}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? texts.nav.close : texts.nav.open}
              aria-expanded={isOpen}
            />
            <Anchor component={Link} href="/" underline="never" c="inherit">
              <Group gap="xs" wrap="nowrap">
                <Logo />
                <Text fw={700} fz="lg">
                  {texts.product}
                </Text>
              </Group>
            </Anchor>
          </Group>
          <Group gap="xs" wrap="nowrap">
            {count > 0 && (
              <Link href="/runs?state=RUNNING" className="tone tone-busy" style={{ textDecoration: 'none' }}>
                {texts.running(count)}
              </Link>
            )}
            <ColorSchemeButton />
            {session.needs_token && <SignOutButton />}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label={texts.nav.label}>
        {entries.map(({ href, label, Icon, active }) => (
          <NavLink
            key={href}
            component={Link}
            href={href}
            label={label}
            leftSection={<Icon size={18} />}
            active={active}
            aria-current={active ? 'page' : undefined}
            variant="filled"
            style={{ borderRadius: 'var(--mantine-radius-md)' }}
            onClick={menu.close}
          />
        ))}
        <Text size="xs" c="dimmed" mt="auto" px="sm">
          {texts.version(session.version)}
        </Text>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} style={{ outline: 'none', minWidth: 0 }}>
        <ConnectionNotice />
        <Boundary place={place}>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/">
                <ChannelsScreen session={session} />
              </Route>
              <Route path="/channels/:channel/:tab?">
                {({ channel, tab }) => <ChannelScreen key={channel} id={channel} tab={tab ?? ''} />}
              </Route>
              <Route path="/new">
                <StartScreen session={session} />
              </Route>
              <Route path="/runs">
                <RunsScreen />
              </Route>
              <Route path="/runs/:run/page">{({ run }) => <PageScreen run={run} />}</Route>
              <Route path="/runs/:run/:tab?">{({ run, tab }) => <RunScreen key={run} run={run} tab={tab ?? ''} />}</Route>
              <Route path="/page">
                <NewestPage />
              </Route>
              <Route path="/search">
                <SearchScreen />
              </Route>
              <Route path="/sites/:site/issues">{({ site }) => <IssuesScreen key={site} site={plainName(site)} />}</Route>
              <Route path="/sites/:site/insights">{({ site }) => <InsightsScreen key={site} site={plainName(site)} />}</Route>
              <Route path="/sites">
                <SitesScreen />
              </Route>
              <Route path="/account/:tab?">{({ tab }) => <AccountScreen session={session} tab={tab ?? ''} />}</Route>
              <Route path="/manage/:tab?/:tenant?">
                {({ tab, tenant }) => <ManageScreen session={session} tab={tab ?? ''} tenant={tenant ?? ''} />}
              </Route>
              <Route>
                <Missing title={texts.problems.notFound} hint={texts.problems.notFoundHint} href="/" label={texts.problems.home} />
              </Route>
            </Switch>
          </Suspense>
        </Boundary>
      </AppShell.Main>
    </AppShell>
  )
}

/** What an address shows: its tabs and filters are parts of one screen, pages of a run are screens of their own. */
function screenOf(place: string, search: string): string {
  const page = place.endsWith('/page') ? new URLSearchParams(search).get('url') : ''
  return `${place.split('/').slice(1, 3).join('/')} ${page}`
}

/** A new screen begins at its top, and takes the focus where what had it is gone, so that the keyboard and screen readers follow. */
function useFocusOnScreens(place: string) {
  const screen = screenOf(place, useSearch())
  const shown = useRef(screen)
  const isBack = useRef(false)
  // What has the focus while the new screen is drawn; it may stay in the document, hidden, until a script has arrived.
  const focused = useRef<Element | null>(null)
  if (shown.current !== screen) focused.current = document.activeElement
  useEffect(() => {
    const note = () => (isBack.current = true)
    addEventListener('popstate', note)
    return () => removeEventListener('popstate', note)
  }, [])
  useEffect(() => {
    if (shown.current === screen) return
    shown.current = screen
    // The browser itself goes back to where a screen was scrolled to.
    if (!isBack.current) scrollTo(0, 0)
    isBack.current = false
    const content = document.getElementById('content')
    const { activeElement } = document
    const isLeft = activeElement === focused.current && content?.contains(activeElement)
    if (activeElement === document.body || isLeft) content?.focus({ preventScroll: true })
  }, [screen])
}

/** The name of a site in an address: the router leaves the colon before a port encoded. */
function plainName(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const next = scheme === 'light' ? 'dark' : 'light'
  return (
    <ActionIcon variant="default" size="lg" onClick={() => setColorScheme(next)} aria-label={texts.theme[next]} title={texts.theme[next]}>
      {next === 'dark' ? <Moon size={18} /> : <Sun size={18} />}
    </ActionIcon>
  )
}

function SignOutButton() {
  const client = useQueryClient()
  async function leave() {
    await signOut()
    client.clear()
    await client.invalidateQueries()
    location.assign('/ui/')
  }
  return (
    <ActionIcon variant="default" size="lg" onClick={() => void leave()} aria-label={texts.signOut} title={texts.signOut}>
      <Leave size={18} />
    </ActionIcon>
  )
}
