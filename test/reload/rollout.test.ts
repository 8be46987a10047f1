import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { rollOut } from '../../src/reload/actions/rollout.ts'
import { MAIN, Program } from '../cli/command.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { PATIENCE, reloading } from './fixture.ts'

interface Asked {
  method: string | undefined
  url: string | undefined
  type: string | undefined
  authorization: string | undefined
  body: unknown
}

const workload = { kind: 'Deployment', namespace: 'shop', name: 'web-1' } as const
const context = (signal = new AbortController().signal) => ({ digest: 'a1b2', signal })

/** The parts of a cluster that a rollout needs: an API server of TLS, and a service account's files. */
class Cluster {
  readonly asked: Asked[] = []
  readonly root = scratch()
  status: number | 'silent' = 200
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<Cluster> {
    const [key, cert] = certificate()
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const cluster = new Cluster(server)
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    server.on('request', async (request, response) => {
      const { method, url, headers } = request
      const { 'content-type': type, authorization } = headers
      cluster.asked.push({ method, url, type, authorization, body: JSON.parse(await text(request)) })
      if (cluster.status === 'silent') return
      const kind = cluster.status === 200 ? 'Deployment' : 'Status'
      response
        .writeHead(cluster.status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ kind, message: 'as the server says' }))
    })
    cluster.account('token', 'the-token')
    cluster.account('ca.crt', readFileSync(cert, 'utf8'))
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1')
    vi.stubEnv('KUBERNETES_SERVICE_PORT', String((server.address() as { port: number }).port))
    onTestFinished(() => void vi.unstubAllEnvs())
    return cluster
  }

  account(name: string, content: string): void {
    const path = join(this.root, 'var/run/secrets/kubernetes.io/serviceaccount', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

function certificate(): [key: string, cert: string] {
  const directory = scratch()
  const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
  const subject = ['-subj', '/CN=cluster', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', key, '-out', cert, '-days', '2', '-nodes']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', ...subject, ...files],
    { stdio: 'ignore' },
  )
  return [key, cert]
}

describe('a rollout', () => {
  let cluster: Cluster
  beforeEach(async () => {
    cluster = await Cluster.start()
  })

  test.each(['Deployment', 'StatefulSet', 'DaemonSet'] as const)(
    'of a %s is one patch of its pod template, by the service account',
    async (kind) => {
      await rollOut({ ...workload, kind }, context(), cluster.root)
      expect(cluster.asked).toEqual([
        {
          method: 'PATCH',
          url: `/apis/apps/v1/namespaces/shop/${kind.toLowerCase()}s/web-1?fieldManager=inotify-bridge`,
          type: 'application/strategic-merge-patch+json',
          authorization: 'Bearer the-token',
          body: { spec: { template: { metadata: { annotations: { 'inotify-bridge/digest': 'a1b2' } } } } },
        },
      ])
    },
  )

  test('uses the token that is there at that time', async () => {
    await rollOut(workload, context(), cluster.root)
    cluster.account('token', 'another')
    await rollOut(workload, context(), cluster.root)
    expect(cluster.asked.map(({ authorization }) => authorization)).toEqual([
      'Bearer the-token',
      'Bearer another',
    ])
  })

  test.each([
    [401, /answered with 401: .*token is not accepted/],
    [403, /answered with 403: .*a Role needs the verb 'patch'/],
    [404, /rollout of Deployment shop\/web-1 was answered with 404: there is none/],
    [500, /answered with 500$/],
  ])('that is answered with %i says what to do', async (status, words) => {
    cluster.status = status
    await expect(rollOut(workload, context(), cluster.root)).rejects.toMatchObject({
      message: expect.stringMatching(words),
      output: expect.stringContaining('as the server says'),
    })
  })

  test('that is not answered in time, or not at all, is said', async () => {
    cluster.status = 'silent'
    const ending = new AbortController()
    const acting = rollOut(workload, context(ending.signal), cluster.root)
    await expect.poll(() => cluster.asked, PATIENCE).toHaveLength(1)
    ending.abort(new Error('timed out after 500 ms'))
    await expect(acting).rejects.toThrow('the rollout of Deployment shop/web-1 timed out after 500 ms')
    cluster.stop()
    await expect(rollOut(workload, context(), cluster.root)).rejects.toThrow(/failed: .*ECONNREFUSED/)
  })

  test.skipIf(!mayUnshare || !existsSync(MAIN))(
    'by the command, with the files of a pod (needs unshare -rm and dist)',
    async () => {
      const path = join(scratch(), 'a')
      writeFileSync(path, 'one')
      const pod =
        'mount -t tmpfs none /run && mkdir -p /var/run && cp -r "$0/var/run/secrets" /var/run/ && exec "$@"'
      const command = ['reload', '--once', path, '--rollout', 'DaemonSet/agent', '--namespace', 'shop']
      const run = new Program('unshare', [
        '-rm',
        'sh',
        '-c',
        pod,
        cluster.root,
        process.execPath,
        MAIN,
        ...command,
      ])
      expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
      const { digest } = /reload (?<digest>\S{12}):/.exec(run.stdout)?.groups ?? {}
      expect(cluster.asked).toMatchObject([
        {
          url: expect.stringContaining('/namespaces/shop/daemonsets/agent?'),
          body: {
            spec: {
              template: {
                metadata: { annotations: { 'inotify-bridge/digest': expect.stringMatching(`^${digest}`) } },
              },
            },
          },
        },
      ])
    },
  )

  test('to a server whose certificate is not of this cluster is refused', async () => {
    cluster.account('ca.crt', readFileSync(certificate()[1], 'utf8'))
    await expect(rollOut(workload, context(), cluster.root)).rejects.toThrow(
      /failed: .*(certificate|self.signed)/i,
    )
    expect(cluster.asked).toEqual([])
  })
})

test('outside of a cluster: said', async () => {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  const path = join(scratch(), 'a')
  writeFileSync(path, 'one')
  const { reloader, told } = await reloading({ paths: [path], action: { rollout: workload } })
  writeFileSync(path, 'two')
  await reloader.trigger()
  expect(told.failures).toMatchObject([
    { stage: 'action', reason: expect.stringContaining('KUBERNETES_SERVICE_HOST') },
  ])
})
