import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { Program } from '../cli/command.ts'
import { processesWith } from '../reload/fixture.ts'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { packBuilt, ROOT } from './checkout.ts'
import { SEEN_MOVE, writeMoves } from './moves.ts'

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-build-'))
afterAll(() => rmSync(folder, { recursive: true }))

const cli = join(ROOT, 'dist/cli.js')

test.skipIf(!existsSync(cli))('what it needs is named where it is missing (needs dist)', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'build'], {
    env: { PATH: scratch() },
    encoding: 'utf8',
  })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^inotify-bridge build: g\+\+ is missing: apt install g\+\+ make python3 .*\n$/)
})

describe.skipIf(!existsSync(cli))('what has been compiled before (needs dist)', () => {
  const ADDON = 'inotify_bridge.node'
  const ENTER = 'inotify_bridge_enter'
  const made = join(ROOT, 'build/Release')

  /** The package, with one that works already, and with a script in place of node-gyp that begins as that does: it removes what is in build/. */
  function installed(script: string) {
    const root = scratch()
    for (const name of ['package.json', 'dist'])
      cpSync(join(ROOT, name), join(root, name), { recursive: true })
    const release = join(root, 'native/build/Release')
    mkdirSync(release, { recursive: true })
    writeFileSync(join(root, 'native/binding.gyp'), '{}')
    for (const name of [ADDON, ENTER]) copyFileSync(join(made, name), join(release, name))
    const put = (name: string, text: string) => {
      const path = join(root, 'node_modules', name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    put('node-addon-api/package.json', '{}')
    put(
      'node-gyp/bin/node-gyp.js',
      `const fs = require('node:fs')
      fs.accessSync('binding.gyp')
      fs.rmSync('build', { recursive: true, force: true })
      fs.mkdirSync('build/Release', { recursive: true })
      ${script}`,
    )
    const inodes = () => [ADDON, ENTER].map((name) => statSync(join(release, name)).ino)
    return { root, inodes, argv: [join(root, 'dist/cli.js'), 'build'] }
  }

  test.each([
    ['that fails', 'process.exit(1)', /^.*compiles in .*\n.*node-gyp\.js failed: see above\n$/],
    [
      'of which comes what cannot be loaded',
      `fs.writeFileSync('build/Release/${ADDON}', '')`,
      /what has been compiled cannot be loaded: .*file too short\n$/,
    ],
  ])('stays after a build %s', (_, script, said) => {
    const { root, inodes, argv } = installed(script)
    const before = inodes()
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(said)
    expect(inodes()).toEqual(before)
    expect(readdirSync(join(root, 'native')).sort()).toEqual(['binding.gyp', 'build'])
  })

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'stays after %s, and nothing else does: neither a compiler nor what it has made',
    async (signal) => {
      // No other process sleeps for as long.
      const long = String(100_000 + (process.pid % 100_000) + Math.random())
      const { root, inodes, argv } = installed(
        `require('node:child_process').spawn('sh', ['-c', 'trap "" INT HUP; sleep ${long} & wait'], { stdio: 'inherit' })`,
      )
      onTestFinished(() => {
        for (const pid of processesWith(long)) process.kill(pid, 'SIGKILL')
      })
      const before = inodes()
      const run = new Program(process.execPath, argv)
      await expect.poll(() => processesWith(long).length, { timeout: 60_000 }).toBe(2)
      run.kill(signal)
      const { code, stdout, stderr } = await run.ended()
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/inotify-bridge build: stopped before it was done\n$/)
      expect(processesWith(long)).toEqual([])
      expect(inodes()).toEqual(before)
      expect(readdirSync(join(root, 'native')).sort()).toEqual(['binding.gyp', 'build'])
    },
  )

  test('is replaced by what can be loaded', () => {
    const copies = [ADDON, ENTER].map(
      (name) => `fs.copyFileSync(${JSON.stringify(join(made, name))}, 'build/Release/${name}')\n`,
    )
    const { root, inodes, argv } = installed(copies.join(''))
    const before = inodes()
    const { status, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, `built ${join(root, 'native/build/Release', ADDON)}\n`])
    for (const [n, inode] of inodes().entries()) expect(inode).not.toBe(before[n])
    expect(readdirSync(join(root, 'native')).sort()).toEqual(['binding.gyp', 'build'])
  })
})

test.skipIf(!isLong)(
  'an architecture that nothing is packed for: the error names the command, and that makes it (fetches node-gyp: npm run test:long)',
  () => {
    writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "private": true }')
    const run = (program: string, ...args: string[]) =>
      spawnSync(program, args, { cwd: folder, encoding: 'utf8' })
    const install = [
      'install',
      '--ignore-scripts',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      packBuilt(folder),
    ]
    execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    rmSync(join(folder, 'node_modules/inotify-bridge/prebuilds'), { recursive: true })
    writeMoves(folder)
    expect(run(process.execPath, 'esm.mjs').stderr).toMatch(
      /has no addon for linux-\w+: run `npx inotify-bridge build` \(needs g\+\+, make, python3\), or `node \S+ build`\n/,
    )

    const built = run('npx', 'inotify-bridge', 'build')
    expect(built).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^built .*\/inotify_bridge\.node\n$/),
    })
    expect(built.stderr.split('\n')).toHaveLength(3)
    expect(run(process.execPath, 'esm.mjs').stdout).toBe(SEEN_MOVE)
    expect(
      existsSync(join(folder, 'node_modules/inotify-bridge/native/build/Release/inotify_bridge_enter')),
    ).toBe(true)
    expect(existsSync(join(folder, 'node_modules/node-gyp'))).toBe(false)
  },
)
