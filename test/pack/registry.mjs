// registry.mjs UPSTREAM TARBALL...: a registry of npm's that has these packages, and sends who asks for others to UPSTREAM. Prints its address; ends when its standard input does.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { basename } from 'node:path'

const [, , upstream = '', ...tarballs] = process.argv

/** @type {Map<string, { tarball: string, manifest: { name: string, version: string, dist?: object } }>} */
const packages = new Map()
for (const tarball of tarballs) {
  const text = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' })
  const manifest = JSON.parse(text)
  packages.set(manifest.name, { tarball, manifest })
}

const server = createServer(({ url = '/', headers }, response) => {
  const path = decodeURIComponent(url)
  const file = tarballs.find((each) => path === `/-/${basename(each)}`)
  if (file !== undefined) return void response.end(readFileSync(file))
  const found = packages.get(path.slice(1))
  if (found === undefined)
    return void response.writeHead(302, { location: new URL(url.slice(1), upstream).href }).end()
  const { tarball, manifest } = found
  const { name, version } = manifest
  const integrity = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`
  const dist = { integrity, tarball: `http://${headers.host}/-/${basename(tarball)}` }
  response.setHeader('content-type', 'application/json')
  const versions = { [version]: { ...manifest, dist } }
  // Yarn 4 takes no version that is younger than a day.
  const time = { [version]: '2026-01-01T00:00:00.000Z' }
  response.end(JSON.stringify({ name, time, versions, 'dist-tags': { latest: version } }))
})
server.listen(0, '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  process.stdout.write(`http://127.0.0.1:${address.port}/\n`)
})
process.stdin.resume().on('end', () => process.exit())
