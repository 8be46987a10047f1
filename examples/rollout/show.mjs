import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { publishDirectory } from '../../dist/index.js'
import { MAIN, MOUNTS, onStage, say, until } from '../stage.mjs'

/** Where a pod finds who it is. The namespace has a /run of its own, in which this can be made. */
const ACCOUNT = '/run/secrets/kubernetes.io/serviceaccount'

const needs = { programs: ['openssl'], namespace: MOUNTS }

await onStage(needs, async ({ directory, start }) => {
  const [config, key, cert] = ['config', 'key', 'cert'].map((name) => join(directory, name))
  if (config === undefined || key === undefined || cert === undefined) return
  await mkdir(config)
  makeCertificate(key, cert)
  execFileSync('mount', ['-t', 'tmpfs', 'none', '/run'])
  await mkdir(ACCOUNT, { recursive: true })
  await writeFile(join(ACCOUNT, 'token'), 'the-token')
  await writeFile(join(ACCOUNT, 'ca.crt'), await readFile(cert))

  /** What the API server was asked for. @type {string[]} */
  const asked = []
  // Of an API server what a rollout asks of it.
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) })
  server.on('request', async (request, response) => {
    asked.push(`${request.method} ${request.url}\n  ${await text(request)}`)
    const body = JSON.stringify({ kind: 'Deployment' })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())

  await publishDirectory(config, { 'app.yaml': 'color: red\n' })
  const rollout = ['--rollout', 'Deployment/web', '--namespace', 'shop']
  const bridge = start(process.execPath, [MAIN, 'reload', '--delay', '50', config, ...rollout], {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(port),
  })
  await until('reload is ready', () => /^ready: /m.test(bridge.output))
  await publishDirectory(config, { 'app.yaml': 'color: blue\n' })
  await until(`the rollout is reported:\n${bridge.output}`, () => /^reload /m.test(bridge.output))
  say('the ConfigMap is updated; the API server is asked for:')
  for (const request of asked) say(request)
  await publishDirectory(config, { 'app.yaml': 'color: blue\n' })
  say(`the same content again: ${asked.length} request in all`)
  server.closeAllConnections()
})

/** @param {string} key @param {string} cert */
function makeCertificate(key, cert) {
  const subject = ['-subj', '/CN=cluster', '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const files = ['-keyout', key, '-out', cert, '-days', '2', '-nodes']
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, ...files], { stdio: 'ignore' })
}
