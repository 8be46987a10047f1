import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
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
      /has no addon for linux[\s\S]*\n {2}npx inotify-bridge build\n/,
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
