// The sidecar's image without a registry: its root is assembled by hand as examples/kubernetes/Dockerfile says, and each command runs in it as the manifests
// have it: another user, no capability, a read-only root, no further privileges, the system calls that a runtime allows.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Program } from '../cli/command.ts'
import { compile } from '../support/compile.ts'
import { exampleText } from './manifests.ts'

const CHECKOUT = join(import.meta.dirname, '../..')
const isRoot = process.getuid?.() === 0

const dockerfile = exampleText('kubernetes/Dockerfile')
const [, lastStage = ''] = dockerfile.split(/^FROM gcr/m)
const entryPoint: string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(lastStage)?.[1] ?? '[]')
const [node = '', main = ''] = entryPoint
const installed = /^WORKDIR (.*)$/m.exec(dockerfile)?.[1] ?? ''

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-image-'))
afterAll(() => rmSync(folder, { recursive: true }))
const root = join(folder, 'root')
const inRoot = (path: string) => join(root, path)

/** A file of this machine, and the directories that it lies in, at the same path. */
function bring(file: string, to = file): void {
  mkdirSync(dirname(inRoot(to)), { recursive: true })
  cpSync(realpathSync(file), inRoot(to))
}

/** What the first stage's npm makes of the tarball; what is compiled is that of this checkout. */
function install(): void {
  const modules = inRoot(join(installed, 'node_modules'))
  mkdirSync(modules, { recursive: true })
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]
  const tarball = execFileSync('npm', pack, { cwd: CHECKOUT, encoding: 'utf8' }).trim()
  execFileSync('tar', ['-xzf', join(folder, tarball), '-C', modules])
  renameSync(join(modules, 'package'), join(modules, 'inotify-bridge'))
  for (const name of ['inotify_bridge.node', 'inotify_bridge_enter'])
    cpSync(
      join(CHECKOUT, 'build/Release', name),
      join(modules, `inotify-bridge/prebuilds/linux-${process.arch}`, name),
    )
  for (const name of ['bindings', 'file-uri-to-path'])
    cpSync(join(CHECKOUT, 'node_modules', name), join(modules, name), { recursive: true })
}

/** What distroless/cc has of glibc and libstdc++: the libraries that node names, and their loader. */
function bringLibraries(): void {
  const listed = execFileSync('ldd', [process.execPath], { encoding: 'utf8' })
  for (const [, path = ''] of listed.matchAll(/(?:=> |^\s*)(\/\S+)/gm)) bring(path)
}

/** A ConfigMap's volume as the kubelet makes it, seen at /source: belongs to root, everybody may read. */
const volume = join(folder, 'volume')
let version = 0
function publish(text: string): void {
  const name = `..version_${++version}`
  mkdirSync(join(volume, name))
  writeFileSync(join(volume, name, 'app.yaml'), text)
  symlinkSync(name, join(volume, '..data_tmp'))
  renameSync(join(volume, '..data_tmp'), join(volume, '..data'))
}

/** A container of the image, with what a runtime mounts; /target is an emptyDir, all else cannot be written. */
function container(args: string[], program = entryPoint): Program {
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
  // Where this machine has certificates of its own, they are not in there.
  const environment = { NODE_EXTRA_CA_CERTS: '' }
  return new Program('unshare', [...namespaces, 'sh', '-ec', mounts, 'sh', ...words], { environment })
}

describe.skipIf(!isRoot)(`the sidecar's image${isRoot ? '' : ' (needs root)'}`, () => {
  beforeAll(() => {
    bring(process.execPath, node)
    bringLibraries()
    install()
    for (const directory of ['proc', 'dev', 'source', 'target']) mkdirSync(inRoot(directory))
    mkdirSync(volume, { mode: 0o755 })
    publish('color: red\n')
    symlinkSync('..data/app.yaml', join(volume, 'app.yaml'))
  }, 60_000)

  test('it has the entry point that the Dockerfile says, and no shell', () => {
    expect(existsSync(inRoot(node))).toBe(true)
    expect(existsSync(inRoot(main))).toBe(true)
    expect(existsSync(inRoot('bin'))).toBe(false)
    expect(readdirSync(inRoot(join(installed, 'node_modules'))).sort()).toEqual([
      'bindings',
      'file-uri-to-path',
      'inotify-bridge',
    ])
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
