import { MantineProvider } from '@mantine/core'
import '@mantine/core/styles.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/client'
import { App } from './app'
import { Boundary } from './parts/frames'
import './styles.css'
import { cssVariables, theme } from './theme'

const client = new QueryClient({
  defaultOptions: {
    queries: {
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
