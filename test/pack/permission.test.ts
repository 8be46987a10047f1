// Errors name the option that allows what Node itself forbids, by its permission model or --no-addons.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLI = join(ROOT, 'dist/cli.js')
// Its name until Node 22.
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission'
const FILES = ['--allow-fs-read=*', '--allow-fs-write=*']
const ADDONS = '--allow-addons'

const FORBIDDEN: ReadonlyArray<[words: string[], options: string[], said: RegExp]> = [
  [['mirror', '--once', 'source', 'target'], [PERMISSION, ...FILES], /--allow-addons/],
  [['mirror', '--once', 'source', 'target'], ['--no-addons'], /without --no-addons/],
  [['watch', 'source'], [PERMISSION, ...FILES], /--allow-addons/],
  [['reload', '--once', 'source', '--', 'true'], [PERMISSION, ADDONS, ...FILES], /--allow-child-process/],
  [['mirror', 'source', '--in-place', '--', 'true'], [PERMISSION, ADDONS, ...FILES], /--allow-child-process/],
  [['watch', 'source'], [PERMISSION, ADDONS, `--allow-fs-read=${ROOT}/*`], /--allow-fs-read/],
]

describe.skipIf(!existsSync(CLI))('what Node forbids (needs dist)', () => {
  const run = (options: string[], words: string[]) => {
    const cwd = scratch()
    mkdirSync(join(cwd, 'source'))
    writeFileSync(join(cwd, 'source/a'), 'one')
    return promisify(execFile)(process.execPath, ['--no-warnings', ...options, CLI, ...words], {
      cwd,
      timeout: 30_000,
    })
  }

  test.each(FORBIDDEN)('%j with %j', async (words, options, said) => {
    const failed = await run(options, words).catch((error) => error)
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(said) })
    // To compile it would change nothing.
    expect(failed.stderr).not.toMatch(/tried:|g\+\+/)
  })

  test('diagnose works without the addon, and says what it is missing', async () => {
    const { stdout } = await run(['--no-addons'], ['diagnose', '--json', 'source'])
    expect(JSON.parse(stdout).advice).toContainEqual(
      expect.stringMatching(/Node forbids addons.*--allow-addons/),
    )
  })
})
