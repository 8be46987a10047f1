import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fetched } from '../../scripts/fetched.mjs'
import { compares, HANDED_OVER, HEARD, HEARS, installed, ORIGINALS } from '../drop_ins/installed.ts'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'

const ROOT = join(import.meta.dirname, '../..')
const INDEX = join(ROOT, 'dist/index.js')
const ROLLDOWN = join(ROOT, 'node_modules/.bin/rolldown')
const isBuilt = existsSync(INDEX)

/** Runs a program. Returns its stdout, parsed as JSON. */
const run = (program: string, ...args: string[]) =>
  JSON.parse(
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 }),
  )

/** Says whether the addon is in this process, and how each that needs it fails. */
const TRY_ALL = `
  const fs = await import('node:fs')
  const directory = process.argv.at(-1)
  const isLoaded = () => fs.readFileSync('/proc/self/maps', 'utf8').includes('inotify_bridge.node')
  const said = { mask: bridge.formatMask(0x80), limits: bridge.KATA_LIMITS.files, backend: (await bridge.diagnose(directory)).backend }
  const failures = []
  for (const attempt of [
    () => new bridge.Inotify(),
    () => bridge.watch(directory).ready,
    () => bridge.mirror(directory, directory + '-mirror'),
    () => bridge.replaceFile(directory + '/file', ''),
    () => bridge.moveFile(directory + '/from', directory + '/to'),
    () => bridge.publishDirectory(directory + '/published', { key: '' }),
    () => bridge.reload({ paths: [directory], action: { command: ['true'] } }),
  ]) {
    try { await attempt(); failures.push(undefined) }
    catch ({ name, code, message, tried }) { failures.push({ name, code, message, tried }) }
  }
  console.log(JSON.stringify({ ...said, failures, isLoaded: isLoaded() }))
`
const IMPORT = `const bridge = await import(${JSON.stringify(INDEX)})`

const refusal = (runtime: string) => ({
  mask: 'IN_MOVED_TO',
  limits: 8,
  backend: expect.any(String),
  isLoaded: false,
  failures: Array.from({ length: 7 }, () => ({
    name: 'AddonLoadError',
    code: 'ERR_INOTIFY_BRIDGE_ADDON',
    message: expect.stringMatching(
      new RegExp(`^inotify-bridge has no addon for ${runtime} \\S+: .* Run this with Node`),
    ),
    tried: [],
  })),
})

/** Other runtimes as npm has them, fetched once, and the arguments before a program. */
const RUNTIMES: Array<[string, () => string, string[]]> = [
  ['Bun', () => join(fetched('@oven/bun-linux-x64@1.4.5'), 'bin/bun'), []],
  ['Deno', () => join(fetched('@deno/linux-x64-glibc@2.9.6'), 'deno'), ['run', '-A']],
]

describe.skipIf(!isBuilt)('where there is no loading the addon (needs dist)', () => {
  test('import loads nothing: the addon is loaded when it is needed', () => {
    const script = `${IMPORT}
      const fs = await import('node:fs')
      const isLoaded = () => fs.readFileSync('/proc/self/maps', 'utf8').includes('inotify_bridge.node')
      const before = isLoaded()
      new bridge.Inotify().close()
      console.log(JSON.stringify([before, isLoaded()]))`
    expect(run(process.execPath, '--input-type=module', '-e', script)).toEqual([false, true])
  })

  // As these two say who they are.
  test.each([
    ['bun', 'Bun'],
    ['deno', 'Deno'],
  ])('under what says that it is %s it is not even loaded, and what needs none works', (key, name) => {
    const marks = JSON.stringify({ [key]: '9.9.9' })
    const disguise = `Object.defineProperty(process, 'versions', { value: { ...process.versions, ...${marks} } })`
    const script = `${disguise}\n${IMPORT}\n${TRY_ALL}`
    expect(run(process.execPath, '--input-type=module', '-e', script, scratch())).toEqual(refusal(name))
  })

  // Once: they are the same whatever Node, or architecture, has started the tests.
  const mayRun = isLong && process.arch === 'x64'
  describe.skipIf(!mayRun).each(RUNTIMES)('under %s (needs LONG=1, x64)', (name, program, args) => {
    test('likewise, and nothing crashes', () => {
      const file = join(scratch(), 'all.mjs')
      writeFileSync(file, `${IMPORT}\n${TRY_ALL}`)
      expect(run(program(), ...args, file, scratch())).toEqual(refusal(name))
    })

    test.each([
      ['has the functions of its original', compares(''), HANDED_OVER],
      ['tells of a new file', HEARS, HEARD],
    ])('each drop-in %s, and warns', (_, text, expected) => {
      const cwd = installed(ORIGINALS)
      writeFileSync(join(cwd, 'program.js'), text)
      const { stdout, stderr } = spawnSync(program(), [...args, 'program.js'], { cwd, encoding: 'utf8' })
      expect(stdout).toBe(expected)
      for (const dropIn of ['chokidar', 'parcel', 'fs', 'fs/promises'])
        expect(stderr).toMatch(
          new RegExp(
            `InotifyBridgeWarning: inotify-bridge/${dropIn} hands over to \\S+ under ${name} .*with Node`,
          ),
        )
    })
  })
})

describe.skipIf(!isBuilt || !existsSync(ROLLDOWN))('in a bundle (needs dist and rolldown)', () => {
  const script = `import * as bridge from ${JSON.stringify(INDEX)}
    try { new bridge.Inotify() }
    catch ({ name, message, tried, cause }) {
      console.log(JSON.stringify({ name, message, tried: tried.length, cause: cause?.code }))
    }`
  const toInstall = expect.stringMatching(
    /^inotify-bridge has no addon for \S+: this code has been bundled.* install inotify-bridge \d+\.\d+\.\d+, the version of the bundle/,
  )

  function bundle(format: 'cjs' | 'esm'): string {
    const directory = join(scratch(), 'dist')
    mkdirSync(directory)
    writeFileSync(join(directory, 'entry.mjs'), script)
    const flags = ['--platform', 'node', '--format', format]
    // Not a single file: what is loaded when it is first called is one of its own.
    execFileSync(ROLLDOWN, [join(directory, 'entry.mjs'), ...flags, '--dir', directory], { stdio: 'pipe' })
    const out = join(directory, format === 'cjs' ? 'bundle.cjs' : 'bundle.mjs')
    renameSync(join(directory, 'entry.js'), out)
    return out
  }

  // Elsewhere than its package: neither what is compiled is found from there, nor what loads it. See pack.test.ts for where it is.
  test.each(['cjs', 'esm'] as const)('%s: the error says where the package is to be installed', (format) => {
    const out = bundle(format)
    expect(run(process.execPath, out)).toEqual({ name: 'AddonLoadError', message: toInstall, tried: 0 })
  })

  test('likewise where nothing is left of import.meta, as in what esbuild makes', () => {
    const out = bundle('cjs')
    let count = 0
    for (const name of readdirSync(dirname(out)).filter((each) => /js$/.test(each))) {
      const file = join(dirname(out), name)
      const text = readFileSync(file, 'utf8')
      const emptied = text.replaceAll('__dirname', '({}).dirname')
      if (emptied !== text) count++
      writeFileSync(file, emptied)
    }
    expect(count).toBeGreaterThan(0)
    expect(run(process.execPath, out)).toEqual({ name: 'AddonLoadError', message: toInstall, tried: 0 })
  })
})
