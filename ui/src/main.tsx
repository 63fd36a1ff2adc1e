import { MantineProvider } from '@mantine/core'
import '@mantine/core/styles.css'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/client'
import { session } from './api/queries'
import { App } from './app'
import { Boundary } from './parts/frames'
import './styles.css'
import { cssVariables, theme } from './theme'

// A session that has ended shows at the next request, whichever it is.
function onError(error: unknown) {
  if (error instanceof ApiError && error.status === 401 && client.getQueryData(session.queryKey)) void client.invalidateQueries({ queryKey: session.queryKey })
}

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => query.queryKey[0] !== session.queryKey[0] && onError(error) }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    mutations: { networkMode: 'always' },
    queries: {
      // The server may be on this machine, which the browser reaches without a network, too.
      networkMode: 'always',
      staleTime: 2000,
      // A refusal will not change by asking again; a server that restarts answers in a moment.
      retry: (count, error) => !(error instanceof ApiError && error.status > 0 && error.status < 500) && count < 2,
    },
  },
})

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

// Libraries that lock the scrolling of the page behind a dialog take the nonce of their styles from here.
Object.assign(window, { __webpack_nonce__: nonce })

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={client}>
        <Boundary>
          <App />
        </Boundary>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
