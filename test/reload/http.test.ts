import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { ContentReader } from '../../src/reload/content_reader.ts'
import { scratch } from '../support/scratch.ts'
import { PATIENCE, reloading } from './fixture.ts'

async function serve(answer: RequestListener, port = 0) {
  const server = createServer(answer).listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { server, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` }
}

async function attempt(
  http: { url: string; method?: string; headers?: Record<string, string> },
  timeout = 5000,
) {
  const path = join(scratch(), 'a')
  writeFileSync(path, 'one')
  const { reloader, told } = await reloading({ paths: [path], timeout, action: { http } })
  writeFileSync(path, 'two')
  await reloader.trigger()
  await reloader.close()
  return told.failures[0] ?? told.events[0]
}

test('a POST, or what was asked for, that is answered with 2xx', async () => {
  const seen: unknown[] = []
  const { url } = await serve(({ method, url, headers }, response) => {
    seen.push([method, url, headers.authorization])
    response.writeHead(204).end()
  })
  expect(await attempt({ url: `${url}/-/reload` })).toBe('reload')
  expect(await attempt({ url: `${url}/x`, method: 'PUT', headers: { authorization: 'Bearer x' } })).toBe(
    'reload',
  )
  expect(seen).toEqual([
    ['POST', '/-/reload', undefined],
    ['PUT', '/x', 'Bearer x'],
  ])
})

/** A server, and what it was sent: the type of each body, and the body. */
async function receiving() {
  const received: Array<[type: string | undefined, body: string]> = []
  const { url } = await serve(async (request, response) => {
    const body = await text(request)
    received.push([request.headers['content-type'], body])
    response.writeHead(body.includes('bad') ? 400 : 200).end()
  })
  return { url: `${url}/load`, received }
}

describe('a file as the body', () => {
  // In ms, longer than any test: events cause no look beside those that trigger() makes.
  const delay = 60_000
  const HEADERS = { 'content-type': 'text/caddyfile' }
  test.each<[how: string, paths: (directory: string) => string[]]>([
    ['the path', (directory) => [join(directory, 'app')]],
    ['below the path', (directory) => [directory]],
    ['one of the paths', (directory) => [join(directory, 'app'), join(directory, 'other')]],
    ['below one of the paths', (directory) => [directory, scratch()]],
  ])('is sent with all its bytes: %s, a link of a ConfigMap', async (_, paths) => {
    const directory = scratch()
    const large = 'x'.repeat(1_000_000)
    await atomicWrite(directory, { app: 'one', other: '' })
    const { url, received } = await receiving()
    const http = { url, headers: HEADERS, body: join(directory, 'app') }
    const { reloader, told } = await reloading({ paths: paths(directory), action: { http }, delay })
    for (const content of ['two', large, '']) {
      await atomicWrite(directory, { app: content, other: '' })
      await reloader.trigger()
    }
    expect(told).toMatchObject({ failures: [], errors: [] })
    expect(received).toEqual(['two', large, ''].map((content) => ['text/caddyfile', content]))
  })

  test('is the version that was validated, or is not sent', async () => {
    const path = join(scratch(), 'app')
    writeFileSync(path, 'one')
    const { url, received } = await receiving()
    const { reloader, told } = await reloading({ paths: [path], action: { http: { url, body: path } } })
    const { bytes } = ContentReader.prototype
    vi.spyOn(ContentReader.prototype, 'bytes').mockImplementationOnce(function (
      this: ContentReader,
      ...asked
    ) {
      writeFileSync(path, 'three')
      return bytes.apply(this, asked)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    writeFileSync(path, 'two')
    await reloader.trigger()
    expect(told.failures).toMatchObject([
      { stage: 'action', reason: expect.stringMatching(/^EAGAIN: .*app' \(it has changed since/) },
    ])
    await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
    expect(received).toEqual([[undefined, 'three']])
  })

  test('that is gone while the rest of the content is there is a failure', async () => {
    const directory = scratch()
    for (const name of ['app', 'other']) writeFileSync(join(directory, name), '')
    const { url, received } = await receiving()
    const http = { url, body: join(directory, 'app') }
    const { reloader, told } = await reloading({ paths: [directory], action: { http }, delay })
    rmSync(join(directory, 'app'))
    await reloader.trigger()
    expect(told.failures).toMatchObject([{ reason: expect.stringContaining('ENOENT') }])
    writeFileSync(join(directory, 'app'), 'bad')
    await reloader.trigger()
    expect(told.failures[1]).toMatchObject({ reason: `POST ${url} was answered with 400 Bad Request` })
    expect(received).toEqual([[undefined, 'bad']])
  })
})

test('any other status is a failure that tells what was answered, and of the query nothing', async () => {
  const { url } = await serve((_, response) => {
    response.writeHead(500).end(`bad config\n${'x'.repeat(100_000)}`)
  })
  const failure = await attempt({ url: `${url}/-/reload?token=secret` })
  expect(failure).toEqual({
    stage: 'action',
    reason: `POST ${url}/-/reload was answered with 500 Internal Server Error`,
    output: expect.stringMatching(/^bad config\nx+$/),
  })
  expect((failure as { output: string }).output).toHaveLength(64 * 1024)
})

test.each([
  ['/here', '/here'],
  ['here?token=secret#secret', '/here'],
  ['?secret', '/moved'],
  ['http://user:secret@other.example:81/a b?secret', 'http://other.example:81/a%20b'],
  ['http://user:secret@[', undefined],
  ['javascript:secret', undefined],
  ['', '/moved'],
])('of a redirect to %j no more is told than origin and path', async (location, shown) => {
  const { url } = await serve((_, response) => {
    response.writeHead(301, { location: Buffer.from(location).toString('latin1') }).end()
  })
  // A redirected POST would be a GET.
  const to = shown?.startsWith('/') ? url + shown : shown
  expect(await attempt({ url: `${url}/moved?token=secret` })).toEqual({
    stage: 'action',
    reason: `POST ${url}/moved was answered with 301 Moved Permanently${to === undefined ? '' : `, to ${to}: name that URL`}`,
    output: '',
  })
})

test('refused, no such host, and no answer in time', async () => {
  const { url, server } = await serve(() => {})
  expect(await attempt({ url }, 100)).toMatchObject({ reason: `POST ${url}/ timed out after 100 ms` })
  server.closeAllConnections()
  server.close()
  expect(await attempt({ url })).toMatchObject({ reason: expect.stringMatching(/failed: .*ECONNREFUSED/) })
})

test('a timeout comes also where garbage was collected meanwhile', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const collecting = setInterval(collect, 20)
  onTestFinished(() => clearInterval(collecting))
  const { url } = await serve(() => {})
  expect(await attempt({ url }, 300)).toMatchObject({ reason: expect.stringContaining('timed out') })
})

test.each([
  [500, expect.objectContaining({ reason: expect.stringContaining('timed out') })],
  [200, 'reload'],
])('a body that never ends: status %d', async (status, outcome) => {
  const { url } = await serve((_, response) => void response.writeHead(status).write('x'))
  expect(await attempt({ url }, 500)).toEqual(outcome)
})

test('close() does not wait for an answer', async () => {
  const asked: unknown[] = []
  const { url } = await serve((request) => void asked.push(request))
  const path = join(scratch(), 'a')
  writeFileSync(path, 'one')
  const { reloader, told } = await reloading({ paths: [path], action: { http: { url } } })
  writeFileSync(path, 'two')
  await expect.poll(() => asked, PATIENCE).toHaveLength(1)
  await reloader.close()
  expect(told.events).toEqual(['close'])
})

// Ports of fetch's "bad ports", to which fetch() sends nothing. None is below 1024, where a user may not listen.
test.each([1719, 3659, 5060, 6000, 6666, 10080])('a port that browsers are kept from: %d', async (port) => {
  const served = await serve((_, response) => void response.end(), port).catch(() => undefined)
  // Another program has it.
  if (served === undefined) return
  expect(await attempt({ url: `http://127.0.0.1:${port}/-/reload` })).toBe('reload')
})

test.skipIf(spawnSync('openssl', ['version']).status !== 0)(
  'https, and a certificate that nobody vouches for (needs openssl)',
  async () => {
    const directory = scratch()
    const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
    const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject]
    spawnSync('openssl', ['req', '-x509', ...made])
    const options = { key: readFileSync(key), cert: readFileSync(cert) }
    const server = https.createServer(options, (_, response) => void response.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    expect(await attempt({ url })).toMatchObject({ reason: expect.stringMatching(/failed: .*self-signed/) })
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await attempt({ url })).toBe('reload')
  },
)
