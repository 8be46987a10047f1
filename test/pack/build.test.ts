import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { packBuilt } from './checkout.ts'
import { SEEN_MOVE, writeMoves } from './moves.ts'

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-build-'))
afterAll(() => rmSync(folder, { recursive: true }))

test.skipIf(!isLong)(
  'an architecture that nothing is packed for: the error names the command that compiles it (fetches node-gyp: npm run test:long)',
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
    const installed = join(folder, 'node_modules/inotify-bridge')
    rmSync(join(installed, 'prebuilds'), { recursive: true })
    writeMoves(folder)
    const { stderr } = run(process.execPath, 'esm.mjs')
    const [, command = ''] =
      /has no addon for linux-\w+: compile it \(needs [^)]*\): (npm .*)/.exec(stderr) ?? []
    expect(run('sh', '-c', command)).toMatchObject({ status: 0 })
    expect(run(process.execPath, 'esm.mjs').stdout).toBe(SEEN_MOVE)
    expect(existsSync(join(installed, 'native/build/Release/inotify_bridge_enter'))).toBe(true)
  },
)
