import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const folder = '../src/sitelore/serve/static'

/** Writes a .gz file next to each script and style sheet: the server has no compression of its own. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf-8' })) {
        if (/\.(js|css|svg)$/.test(name)) {
          const path = join(folder, name)
          writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }))
        }
      }
    },
  }
}

export default defineConfig({
  base: '/ui/',
  plugins: [react(), compressed()],
  // The server replaces the placeholder in each response (serve/dashboard.py).
  html: { cspNonce: '__CSP_NONCE__' },
  build: { outDir: folder, emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
  server: { proxy: { '^/(?!ui/)': 'http://127.0.0.1:8080' } },
})
