import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Run } from './command.ts'
import { childrenOf, mayBeProcess1, Process1 } from './pid_namespace.ts'

const PATIENCE = { interval: 5, timeout: 60_000 }
const FAST = ['reload', '--delay', '50']

function file(text = 'one') {
  const directory = join(scratch(), 'config')
  mkdirSync(directory)
  const path = join(directory, 'app.yaml')
  writeFileSync(path, text)
  return { directory, path }
}

/** `inotify-bridge reload`, when it is ready. */
async function running(args: string[], environment: NodeJS.ProcessEnv = {}): Promise<Run> {
  const run = new Run([...FAST, ...args], { environment })
  await run.until('stdout', /\bready\b.*\n/)
  return run
}

test('a command is run for each change; SIGTERM ends it with exit code 0', async () => {
  const { directory, path } = file()
  const copy = join(scratch(), 'copy')
  const run = await running([directory, '--', 'cp', path, copy])
  expect(existsSync(copy)).toBe(false)
  for (const text of ['two', 'three']) {
    const before = run.lines.length
    writeFileSync(path, text)
    await expect.poll(() => run.lines.length, PATIENCE).toBe(before + 1)
    expect(readFileSync(copy, 'utf8')).toBe(text)
  }
  run.kill('SIGTERM')
  const { code, stdout, stderr } = await run.ended()
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^ready: \S+\nreload [0-9a-f]{12}: app\.yaml\nreload [0-9a-f]{12}: app\.yaml\n$/)
})

test.each([[['--once']], [[]]])('%j: that a part of the package cannot be loaded is said once', (options) => {
  const { directory } = file()
  const copy = scratch()
  const root = join(import.meta.dirname, '../..')
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
  for (const name of ['package.json', 'node_modules', 'build'])
    symlinkSync(join(root, name), join(copy, name))
  // As an upgrade does, under a process that runs.
  for (const name of readdirSync(join(copy, 'dist')))
    if (name.startsWith('work-')) rmSync(join(copy, 'dist', name))
  const argv = [join(copy, 'dist/cli.js'), 'reload', ...options, directory, '--', 'true']
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', timeout: 60_000 })
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^inotify-bridge reload: ENOENT: [^\n]*restart this process\)\n$/)
})

test('--signal, by each of the ways to name a process', async () => {
  const { path } = file()
  const name = 'ib-test-cli'
  const executable = join(scratch(), name)
  execFileSync('cp', ['-L', '/bin/sh', executable])
  const child = spawn(executable, ['-c', "trap 'echo usr1' USR1; echo ready; while :; do sleep 0.01; done"])
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  await expect.poll(() => said, PATIENCE).toContain('ready')
  const pidFile = join(scratch(), 'pid')
  writeFileSync(pidFile, `${child.pid}\n`)
  let n = 0
  for (const target of [
    ['--pid', String(child.pid)],
    ['--pid-file', pidFile],
    ['--process', name],
  ]) {
    const run = await running([path, '--signal', n === 0 ? 'USR1' : 'SIGUSR1', ...target])
    writeFileSync(path, `${n++}`)
    await expect.poll(() => said.split('usr1').length - 1, PATIENCE).toBe(n)
    run.kill('SIGTERM')
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
  }
})

test('--http, and --validate with its arguments', async () => {
  const { path } = file('good')
  const asked: unknown[] = []
  const server = createServer(({ method, url }, response) => {
    asked.push([method, url])
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const validate = [
    '--validate',
    'grep',
    '--validate-arg=-q',
    '--validate-arg',
    'good',
    '--validate-arg',
    path,
  ]
  const run = await running([...validate, '--http', `http://127.0.0.1:${port}/-/reload`, path])
  writeFileSync(path, 'bad')
  await run.until('stderr', /^inotify-bridge reload: validate failed: 'grep': exit code 1\n/)
  expect(asked).toEqual([])
  writeFileSync(path, 'good 2')
  await run.until('stdout', /^reload /m)
  expect(asked).toEqual([['POST', '/-/reload']])
})

test('--body and --header, as Caddy takes its configuration', async () => {
  const { directory, path } = file('localhost\n')
  const sent: unknown[] = []
  const server = createServer(async (request, response) => {
    sent.push([request.headers['content-type'], await text(request)])
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const to = ['--http', `http://127.0.0.1:${port}/load`]
  const attempt = async (...args: string[]) => {
    const { code, stderr } = await new Run(['reload', '--once', directory, ...args]).ended()
    return [code, stderr]
  }
  const header = ['--header', 'Content-Type:text/caddyfile', '--header=x: a: b']
  expect(await attempt(...to, '--body', path, ...header)).toEqual([0, ''])
  expect(sent).toEqual([['text/caddyfile', 'localhost\n']])
  const wrong: Array<[string[], string]> = [
    [[...to, '--body', '/etc/passwd'], 'http.body must be one of the paths, or a file below one'],
    [[...to, '--header', 'authorization=secret'], "--header takes 'NAME: VALUE'"],
    [['--signal', 'HUP', '--pid', '1', '--body', path], '--body needs --http'],
  ]
  for (const [args, words] of wrong)
    expect(await attempt(...args)).toEqual([2, expect.stringContaining(words)])
})

test('--rollout where there is no cluster: said', async () => {
  const { path } = file()
  const run = await running([path, '--rollout', 'Deployment/web', '--namespace', 'shop'], {
    KUBERNETES_SERVICE_HOST: '',
  })
  writeFileSync(path, 'two')
  await run.until('stderr', /action failed: .*KUBERNETES_SERVICE_HOST/)
})

test('--once: validates and acts now, and ends with the result', async () => {
  const { path } = file()
  const attempt = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Run(['reload', '--once', ...args]).ended()
    return [code, stdout.replace(/ [0-9a-f]{12}/, ''), stderr]
  }
  expect(await attempt(path, '--', 'true')).toEqual([0, 'reload: app.yaml\n', ''])
  expect(await attempt(path, '--', 'sh', '-c', 'echo oh no; exit 3')).toEqual([
    1,
    'oh no\n',
    "inotify-bridge reload: action failed: 'sh': exit code 3\ninotify-bridge reload: | oh no\n",
  ])
  expect(await attempt('--validate', 'false', path, '--', 'touch', `${path}.acted`)).toEqual([
    1,
    '',
    "inotify-bridge reload: validate failed: 'false': exit code 1\n",
  ])
  expect(existsSync(`${path}.acted`)).toBe(false)
  expect(await attempt('/no/such', '--', 'true')).toEqual([
    1,
    '',
    expect.stringMatching(/^inotify-bridge reload: ENOENT.*\n$/),
  ])
})

test('--json: an object a line, with control characters escaped; as text as well', async () => {
  const { directory } = file()
  const names = ['a b', '-rf', '$(x)', '\x1b[31m\n\u202e']
  const fails = ['--', 'sh', '-c', 'printf "\\033[31mred\\n\\342\\200\\256"; exit 1']
  const json = await running(['--json', directory, ...fails])
  const words = await running([directory, '--', 'true'])
  for (const name of names) writeFileSync(join(directory, name), '')
  await json.until('stdout', /"failed".*\n/)
  await words.until('stdout', /^reload .*\n/m)
  expect(json.objects.at(-1)).toEqual({
    event: 'failed',
    stage: 'action',
    reason: "'sh': exit code 1",
    output: '\x1b[31mred\n\u202e',
  })
  for (const { stdout, stderr } of [json, words]) expect(stdout + stderr).not.toMatch(/[\x1b\u202e]/)
  for (const name of names.slice(0, 3)) expect(words.lines.at(-1)).toContain(name)
  expect(words.lines.at(-1)).toContain('\\x1b[31m\\n\\u202e')
})

test('what fails is told on stderr with what the program has said, escaped', async () => {
  const { path } = file()
  const run = await running([path, '--', 'sh', '-c', 'printf "\\033[31mred\\nline 2\\n"; exit 1'])
  writeFileSync(path, 'two')
  await run.until('stderr', /line 2\n/)
  expect(run.stderr).toBe(
    "inotify-bridge reload: action failed: 'sh': exit code 1\ninotify-bridge reload: | \\x1b[31mred\ninotify-bridge reload: | line 2\n",
  )
})

test('--listen: alive, ready while the content is in use, and metrics that count', async () => {
  const { path } = file('good')
  const args = [
    '--retry',
    '50',
    '--json',
    '--listen',
    '127.0.0.1:0',
    '--validate',
    'grep',
    '--validate-arg=good',
    '--validate-arg',
    path,
    path,
  ]
  const run = await running([...args, '--', 'true'])
  const url = String(run.objects.find(({ event }) => event === 'listening')?.url)
  const get = async (route: string) => {
    const response = await fetch(url + route)
    return { status: response.status, body: await response.text() }
  }
  await expect.poll(async () => (await get('/readyz')).status, PATIENCE).toBe(200)
  writeFileSync(path, 'bad')
  await run.until('stdout', /"failed".*\n(.*\n)*.*"failed"/)
  expect(await get('/readyz')).toEqual({ status: 503, body: "validate failed: 'grep': exit code 1\n" })
  expect((await get('/healthz')).status).toBe(200)
  expect((await get('/metrics')).body).toContain('inotify_bridge_reload_failing{stage="validate"} 1\n')
  writeFileSync(path, 'good 2')
  await run.until('stdout', /"reload"/)
  await expect.poll(async () => (await get('/readyz')).status, PATIENCE).toBe(200)
  const metrics = (await get('/metrics')).body
  expect(metrics).toContain(`inotify_bridge_reload_info{path="${path}"} 1\n`)
  expect(metrics).toContain('inotify_bridge_reload_ready 1\n')
  expect(metrics).toContain('inotify_bridge_reload_reloads_total 1\n')
  expect(metrics).toMatch(/inotify_bridge_reload_failures_total\{stage="validate"\} [2-9]/)
  rmSync(path)
  await expect
    .poll(async () => (await get('/readyz')).body, PATIENCE)
    .toMatch(/^ENOENT.*nothing is done until it is there/)
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
})

test('SIGTERM while the command runs ends that as well', async () => {
  const { path } = file()
  const marker = join(scratch(), 'begun')
  const run = await running([path, '--', 'sh', '-c', `echo $$ >${marker}; sleep 7073`])
  writeFileSync(path, 'two')
  await expect.poll(() => existsSync(marker) && readFileSync(marker, 'utf8') !== '', PATIENCE).toBe(true)
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
  expect(existsSync(`/proc/${readFileSync(marker, 'utf8').trim()}`)).toBe(false)
})

const RELOADS = rounds(process.env.RELOADS, { quick: 20, long: 50 })

describe.skipIf(!mayBeProcess1)('without inotify, or as process 1 (needs unshare)', () => {
  test.each(['max_inotify_instances', 'max_inotify_watches'])(
    '%s used up: said, and polled',
    async (limit) => {
      const { directory, path } = file()
      for (const [n, watched] of [directory, path].entries()) {
        const script = `echo 0 >/proc/sys/user/${limit}; exec "$@"`
        const run = new Process1([
          'sh',
          '-c',
          script,
          '',
          process.execPath,
          MAIN,
          ...FAST,
          watched,
          '--',
          'true',
        ])
        await run.until('stdout', /ready/)
        expect(run.stderr).toMatch(/^inotify-bridge reload: (EMFILE|ENOSPC): .*raise it/)
        writeFileSync(path, `${limit} ${n}`)
        await run.until('stdout', /^reload /m)
        process.kill(await run.outerPid(), 'SIGTERM')
        await run.ended()
      }
    },
  )

  test('what is left of a command that took too long is a zombie, and that is the end of it, where process 1 waits for nobody', async () => {
    const { path } = file()
    // Node itself does not wait for orphans.
    const script =
      "require('node:child_process').spawnSync(process.argv[1], process.argv.slice(2), { stdio: 'inherit' })"
    const command = ['--', 'sh', '-c', 'sleep 1000 & sleep 1000']
    const args = ['reload', '--once', '--timeout', '100', path, ...command]
    const run = new Process1([process.execPath, '-e', script, process.execPath, MAIN, ...args])
    const { stderr } = await run.ended()
    expect(stderr).toContain("'sh' timed out after 100 ms: its process group was killed by SIGTERM\n")
  })

  test(`${RELOADS} reloads for as many swaps of a ConfigMap leave no zombie, whatever the command leaves behind`, async () => {
    const { directory } = file()
    rmSync(join(directory, 'app.yaml'))
    await atomicWrite(directory, { 'app.yaml': '0' })
    // Its child is an orphan at once, and process 1's.
    const command = ['--', 'sh', '-c', '(sh -c "exit 0" &); exit 0']
    const run = new Process1([process.execPath, MAIN, 'reload', '--delay', '0', directory, ...command])
    await run.until('stdout', /ready/)
    for (let n = 1; n <= RELOADS; n++) {
      await atomicWrite(directory, { 'app.yaml': String(n) })
      await expect.poll(() => run.lines.length, PATIENCE).toBe(n + 1)
    }
    expect(run.lines.slice(1).every((line) => line.endsWith(': app.yaml'))).toBe(true)
    const pid = await run.outerPid()
    await expect.poll(() => childrenOf(pid), PATIENCE).toEqual([])
    expect(readdirSync(`/proc/${pid}/task`).length).toBeLessThan(20)
    process.kill(pid, 'SIGTERM')
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
  })
})
