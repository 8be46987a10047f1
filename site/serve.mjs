// npm run docs: makes the site, and serves it until it is interrupted. PORT is 8000 if it is not set.
import { execFileSync } from 'node:child_process'
import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

const site = join(import.meta.dirname, 'out')
execFileSync(process.execPath, [join(import.meta.dirname, 'make.mjs'), 'site', site], { stdio: 'inherit' })

/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

const server = createServer(({ url = '/' }, response) => {
  const path = decodeURIComponent(new URL(url, 'http://site').pathname)
  // Normalized, so that nothing outside of the site is served.
  const file = join(site, normalize(path.endsWith('/') ? `${path}index.html` : path))
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end()
  response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
  return createReadStream(file).pipe(response)
})
server.listen(Number(process.env.PORT ?? 8000), 'localhost', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') console.log(`http://localhost:${address.port}/`)
})
