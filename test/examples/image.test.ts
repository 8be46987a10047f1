// The image without Docker and a registry: this test carries the Dockerfile's instructions out in a scratch
// directory. Each command then runs there as the manifests say: as another user, without capabilities, with a
// read-only root, without further privileges, with a runtime's system calls.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Program } from '../cli/command.ts'
import { compile } from '../support/compile.ts'
import { isLong } from '../support/long.ts'
import { exampleText } from './manifests.ts'

const CHECKOUT = join(import.meta.dirname, '../..')
const isRoot = process.getuid?.() === 0

/** The Dockerfile's instructions: the keyword, and the rest of the line. */
const instructions = exampleText('kubernetes/Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => /^(\w+) (.*)$/.exec(line)?.slice(1) as [string, string])
const lastFrom = instructions.findLastIndex(([keyword]) => keyword === 'FROM')
const lastStage = (name: string) =>
  instructions.slice(lastFrom).find(([keyword]) => keyword === name)?.[1] ?? ''

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-image-'))
afterAll(() => rmSync(folder, { recursive: true }))
const context = join(folder, 'context')
const root = join(folder, 'image')
const inRoot = (path: string) => join(root, path)
const node = '/usr/local/bin/node'
const command = `/usr/local/bin/${JSON.parse(lastStage('ENTRYPOINT'))[0]}`
const installed = '/opt/inotify-bridge'

/** Copies the files that .dockerignore lets through: the needed ones, without those that the build makes. */
function makeContext(): void {
  const lines = readFileSync(join(CHECKOUT, '.dockerignore'), 'utf8').split('\n')
  const without = lines
    .filter((line) => /^\w/.test(line))
    .map((line) => new RegExp(`^${join(CHECKOUT, line).replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`))
  const filter = (path: string) => !without.some((pattern) => pattern.test(path))
  for (const name of lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1)))
    cpSync(join(CHECKOUT, name), join(context, name), { recursive: true, filter })
}

/** Imitates npm with files of this checkout. With LONG=1, npm itself runs. */
const NPM = `#!/bin/sh -e
case $* in
'ci --ignore-scripts') ln -s ${CHECKOUT}/node_modules node_modules ;;
'run build') mkdir build && cp -r ${CHECKOUT}/dist . && cp -r ${CHECKOUT}/build/Release build ;;
'ci --omit=dev --ignore-scripts') mkdir node_modules && cp -r ${CHECKOUT}/node_modules/bindings ${CHECKOUT}/node_modules/file-uri-to-path node_modules ;;
*) exit 1 ;;
esac`

/** Carries out the first stage. Its directories /src and /image are below `folder`. */
function build(): void {
  const tools = join(folder, 'tools')
  mkdirSync(tools)
  if (!isLong) {
    writeFileSync(join(tools, 'npm'), NPM)
    chmodSync(join(tools, 'npm'), 0o755)
  }
  const here = (text: string) => text.replaceAll(/(?<=^|[\s"'])\/(src|image)(?=[\s/]|$)/g, `${folder}/$1`)
  const env = {
    ...process.env,
    PATH: `${tools}:${process.env.PATH}`,
  }
  let cwd = '/'
  for (const [keyword, text] of instructions.slice(0, lastFrom)) {
    if (keyword === 'WORKDIR') {
      cwd = here(text)
      mkdirSync(cwd, { recursive: true })
    } else if (keyword === 'RUN')
      execFileSync('sh', ['-ec', here(text)], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
    else if (keyword === 'COPY')
      for (const name of text.split(' ').slice(0, -1))
        cpSync(join(context, name), name === '.' ? cwd : join(cwd, name), { recursive: true })
    else expect(['ARG', 'FROM']).toContain(keyword)
  }
}

/** Copies a file of this machine to the same path. */
function bring(file: string): void {
  mkdirSync(dirname(inRoot(file)), { recursive: true })
  cpSync(realpathSync(file), inRoot(file))
}

/**
 * Copies the libraries that distroless/cc has from glibc and libstdc++: those that node names, and their
 * loader.
 */
function bringLibraries(): void {
  const listed = execFileSync('ldd', [process.execPath], { encoding: 'utf8' })
  for (const [, path = ''] of listed.matchAll(/(?:=> |^\s*)(\/\S+)/gm)) bring(path)
}

/** A ConfigMap's volume like the kubelet's, at /source: owned by root, readable for all. */
const volume = join(folder, 'volume')
let version = 0
function publish(text: string): void {
  const name = `..version_${++version}`
  mkdirSync(join(volume, name))
  writeFileSync(join(volume, name, 'app.yaml'), text)
  symlinkSync(name, join(volume, '..data_tmp'))
  renameSync(join(volume, '..data_tmp'), join(volume, '..data'))
}

/**
 * Runs a container of the image with a runtime's mounts. /target is an emptyDir, and all else is read-only.
 */
function container(args: string[], program = [command]): Program {
  const mounts = `
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    mount -t tmpfs none "$1/dev"
    touch "$1/dev/null"
    mount --bind /dev/null "$1/dev/null"
    mount -t tmpfs -o mode=1777 none "$1/target"
    mount --bind "$2" "$1/source"
    mount -o remount,bind,ro "$1"
    mount -o remount,bind,ro "$1/source"
    restricted=$3 root=$1
    shift 3
    exec "$restricted" "$root" "$@"`
  const namespaces = ['-mpf', '--propagation', 'private', '--kill-child']
  const words = [root, volume, compile('restricted'), ...program, ...args]
  // Certificates of this machine are not in the container.
  const environment = { NODE_EXTRA_CA_CERTS: '' }
  return new Program('unshare', [...namespaces, 'sh', '-ec', mounts, 'sh', ...words], { environment })
}

describe.skipIf(!isRoot)(`the sidecar's image${isRoot ? '' : ' (needs root)'}`, () => {
  beforeAll(() => {
    makeContext()
    build()
    bringLibraries()
    for (const directory of ['proc', 'dev', 'source', 'target']) mkdirSync(inRoot(directory))
    mkdirSync(volume, { mode: 0o755 })
    publish('color: red\n')
    symlinkSync('..data/app.yaml', join(volume, 'app.yaml'))
  })

  test('Docker is sent nothing that git ignores: neither node_modules nor what is built here', () => {
    const sent = readdirSync(context, { recursive: true, encoding: 'utf8' }).filter(
      (path) => !statSync(join(context, path)).isDirectory(),
    )
    const list = ['ls-files', '--cached', '--others', '--exclude-standard']
    const known = execFileSync('git', list, { cwd: CHECKOUT, encoding: 'utf8' }).split('\n')
    expect(sent.filter((path) => !known.includes(path))).toEqual([])
  })

  test('the last stage takes what the first has made, has no right, and starts the command itself', () => {
    expect(lastStage('COPY')).toBe('--from=build /image /')
    expect(lastStage('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(JSON.parse(lastStage('ENTRYPOINT'))).toEqual(['inotify-bridge'])
  })

  test('it has the entry point, and no shell', () => {
    expect(existsSync(inRoot(node))).toBe(true)
    expect(lstatSync(inRoot(command)).isSymbolicLink()).toBe(true)
    expect(existsSync(inRoot('bin'))).toBe(false)
    const modules = readdirSync(inRoot(join(installed, 'node_modules')))
    expect(modules.filter((name) => !name.startsWith('.')).sort()).toEqual(['bindings', 'file-uri-to-path'])
  })

  test('who runs in it is as the manifests say', async () => {
    const script = `
      const fs = require('node:fs')
      const tried = (act) => { try { act(); return 'done' } catch ({ code }) { return code } }
      const status = Object.fromEntries(fs.readFileSync('/proc/self/status', 'utf8').split('\\n').map((line) => line.split(':\\t')))
      const { Uid, Groups, CapEff, CapBnd, NoNewPrivs, Seccomp } = status
      console.log(JSON.stringify({ Uid, Groups: Groups.trim(), CapEff, CapBnd, NoNewPrivs, Seccomp,
        root: tried(() => fs.writeFileSync('/written', '')), source: tried(() => fs.writeFileSync('/source/written', '')),
        target: tried(() => fs.writeFileSync('/target/written', '')), pid: process.pid }))`
    const { stdout, stderr } = await container(['-e', script], [node]).ended()
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      Uid: '65534\t65534\t65534\t65534',
      Groups: '',
      CapEff: '0000000000000000',
      CapBnd: '0000000000000000',
      NoNewPrivs: '1',
      // SECCOMP_MODE_FILTER.
      Seccomp: '2',
      root: 'EROFS',
      source: 'EROFS',
      target: 'done',
      pid: 1,
    })
  })

  test('the supervisor of `run` can be copied out, as the manifest has it, and needs nothing else of the image', async () => {
    const [, script = ''] =
      /command: \[node, -e, "(.*)"\]/.exec(exampleText('kubernetes/run-patch.yaml')) ?? []
    const copied = script.replace('/run-bin/', '/target/')
    expect(copied).not.toBe(script)
    const start = `require('child_process').spawnSync('/target/inotify_bridge_run', ['--help'], { stdio: 'inherit' })`
    const { code, stdout } = await container(
      ['-e', `${copied}; process.exit(${start}.status)`],
      [node],
    ).ended()
    expect(code).toBe(0)
    expect(stdout).toMatch(/^usage: inotify-bridge run /)
  })

  test('--in-place is refused, and says why: it needs what a container has not', async () => {
    const { code, stderr } = await container([
      'mirror',
      '/source',
      '--in-place',
      '--',
      node,
      '--version',
    ]).ended()
    expect(code).toBe(1)
    expect(stderr).toMatch(/unshare|clone|namespace/)
  })

  test('diagnose', async () => {
    const { code, stdout, stderr } = await container([
      'diagnose',
      '--json',
      '/source',
      '/source/app.yaml',
    ]).ended()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
      path: '/source',
      local: 'delivered',
      pinned: 'no',
    })
  })

  test('mirror', async () => {
    const run = container([
      'mirror',
      '--json',
      '--listen',
      '127.0.0.1:0',
      '--ready-file',
      '/target/../target/.ready',
      '/source',
      '/target',
    ])
    await run.until('stdout', /"mirroring"/)
    publish('color: green\n')
    await run.until('stdout', /"event":"update"/)
    expect(run.objects).toContainEqual({ event: 'update', changed: ['app.yaml'], generation: 2 })
    expect(run.stderr).toBe('')
  })

  test('reload', async () => {
    const act = [
      '-e',
      'console.log(process.getuid(), require("node:fs").readFileSync("/source/app.yaml", "utf8"))',
    ]
    const run = container(['reload', '--json', '--delay', '50', '/source', '--', node, ...act])
    await run.until('stdout', /"ready"/)
    publish('color: blue\n')
    await run.until('stdout', /"event":"reload"/)
    expect(run.objects).toContainEqual({ event: 'reload', changed: ['app.yaml'], digest: expect.any(String) })
    expect(run.stderr).toBe('')
  })

  test('watch', async () => {
    const run = container(['watch', '--json', '-m', '/source'])
    await run.until('stderr', /Watches established/)
    publish('color: violet\n')
    await run.until('stdout', /\.\.data/)
  })

  test('publish', async () => {
    const { code, stdout, stderr } = await container([
      'publish',
      '--json',
      '/source/app.yaml',
      '/target',
    ]).ended()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ event: 'published', path: '/target/app.yaml' })
  })
})
