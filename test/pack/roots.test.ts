import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { packBuilt } from './checkout.ts'
import { SEEN_MOVE, writeMoves } from './moves.ts'

const MUSL = process.arch === 'arm64' ? '/lib/ld-musl-aarch64.so.1' : '/lib/ld-musl-x86_64.so.1'
const isRoot = process.getuid?.() === 0

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-roots-'))
afterAll(() => rmSync(folder, { recursive: true }))
const installed = join(folder, 'node_modules/inotify-bridge')
const prebuilt = join(installed, 'prebuilds', `linux-${process.arch}`)

beforeAll(() => {
  if (!isLong || !isRoot) return
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "private": true }')
  const install = [
    'install',
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    packBuilt(folder),
  ]
  execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
})

/** Puts a file of this machine where it is, or elsewhere, in a root. */
function place(root: string, file: string, at = file): void {
  mkdirSync(dirname(join(root, at)), { recursive: true })
  copyFileSync(realpathSync(file), join(root, at))
}

// As in an image of Alpine, without what no package has: a Node that is linked to musl. That it runs the addon is not shown here.
describe.skipIf(!isLong || !isRoot || !existsSync(MUSL))(
  "a root with musl and nothing else (npm run test:long; needs root, and Debian's musl)",
  () => {
    const root = join(folder, 'musl')
    beforeAll(() => {
      place(root, MUSL)
      for (const name of ['inotify_bridge.node', 'inotify_bridge_enter'])
        place(root, join(prebuilt, name), `/${name}`)
    })

    test("musl's loader finds all that the addon asks for, but for what Node itself has", () => {
      const { stdout, stderr } = spawnSync('chroot', [root, MUSL, '--list', '/inotify_bridge.node'], {
        encoding: 'utf8',
      })
      expect(stdout).toContain(`libc.so.6 => ${MUSL}`)
      const missing = [...stderr.matchAll(/: (\S+): symbol not found/g)].map(([, name]) => name as string)
      expect(missing).toContain('napi_create_function')
      expect(missing.filter((name) => !/^(napi|uv)_/.test(name))).toEqual([])
    })

    test('the program covers a directory there, and becomes a command', async () => {
      mkdirSync(join(root, 'covered'))
      const command = ['/inotify_bridge_enter', '/covered', '1048576', '.', '/inotify_bridge_enter']
      // A mount, as a container's root is one.
      const script = 'mount --bind "$1" "$1"; exec chroot "$@"'
      const child = spawn('unshare', ['-m', 'sh', '-ec', script, 'sh', root, ...command], {
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      })
      let said = ''
      child.stderr?.on('data', (text) => {
        said += text
      })
      const socket = child.stdio[3] as Duplex
      const [line] = await once(socket, 'data')
      expect(String(line)).toMatch(/^ready \d+\n$/)
      socket.write('\n')
      expect(await once(child, 'close')).toEqual([2, null])
      expect(said).toContain('mirror --in-place')
    })
  },
)

describe.skipIf(!isLong || !isRoot)(
  'a root with Node, its libraries, the package and nothing else, as user 65534 (npm run test:long; needs root)',
  () => {
    const root = join(folder, 'glibc')
    const program = (name: string) => `/app/${name}`
    const cli = program('node_modules/inotify-bridge/dist/cli.js')

    /** No compiler, no shell, and all of it read-only to that user but for /work. */
    const run = (...args: string[]) => {
      const namespace = ['-mpf', `--mount-proc=${join(root, 'proc')}`]
      const user = ['chroot', '--userspec=65534:65534', root, '/node']
      return spawnSync('unshare', [...namespace, ...user, ...args], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH },
        timeout: 60_000,
      })
    }

    beforeAll(() => {
      place(root, process.execPath, '/node')
      const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' })
      for (const [library] of libraries.matchAll(/\/\S+/g)) place(root, library)
      cpSync(join(folder, 'node_modules'), join(root, 'app/node_modules'), { recursive: true })
      mkdir(root, 'proc')
      chmodSync(mkdir(root, 'work'), 0o777)
      writeMoves(join(root, 'app'), '/work')
    })

    test.each(['esm.mjs', 'cjs.cjs'])('%s sees an IN_MOVED_TO', (file) => {
      expect(run(program(file))).toMatchObject({ status: 0, stdout: SEEN_MOVE, stderr: '' })
    })

    test('the command publishes, mirrors and diagnoses', () => {
      for (const name of ['source', 'target']) chmodSync(mkdir(root, join('work', name)), 0o777)
      writeFileSync(join(root, 'work/key'), 'one')
      expect(run(cli, 'publish', '/work/key', '/work/source/key')).toMatchObject({ status: 0 })
      expect(run(cli, 'mirror', '--once', '/work/source', '/work/target')).toMatchObject({ status: 0 })
      expect(readFileSync(join(root, 'work/target/key'), 'utf8')).toBe('one')
      expect(run(cli, 'diagnose', '/work')).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('backend'),
      })
    })
  },
)

function mkdir(...path: string[]): string {
  const directory = join(...path)
  mkdirSync(directory, { recursive: true })
  return directory
}
