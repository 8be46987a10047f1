import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { isLong } from '../support/long.ts'
import { isNotInstalled, packBuilt, ROOT } from './checkout.ts'
import { SEEN_MOVE, writeMoves } from './moves.ts'

/** A contributor has a compiler for his own machine: `npm pack` asks for the other's. */
const ARCHITECTURES = isLong ? ['x64', 'arm64'] : [process.arch]
/** The limit for the size of an install. */
const MOST_BYTES = 730_000

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-pack-'))
afterAll(() => rmSync(folder, { recursive: true }))
const installed = join(folder, 'node_modules', 'inotify-bridge')
let tarball: string
let files: string[]

const run = (program: string, args: string[], cwd = folder) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

// As a user has it: packed, and installed in an empty folder where no script may run.
beforeAll(() => {
  tarball = packBuilt(folder, ARCHITECTURES)
  files = run('tar', ['-tzf', tarball])
    .trim()
    .split('\n')
    .map((name) => name.replace(/^package\//, ''))
  writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "private": true }')
  run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', tarball])
})

test('the tarball has what a user needs, and nothing that makes npm compile', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'dist/index.js',
      'dist/index.d.ts',
      'dist/cli.js',
      ...ARCHITECTURES.flatMap((name) => [
        `prebuilds/linux-${name}/inotify_bridge.node`,
        `prebuilds/linux-${name}/inotify_bridge_enter`,
        `prebuilds/linux-${name}/inotify_bridge_run`,
      ]),
      'native/binding.gyp',
      'native/queue/queue.cc',
      'native/ns_enter.cc',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
    ]),
  )
  expect(files).not.toContain('binding.gyp')
  expect(files.filter((name) => /^(test|src|bench|build|node_modules|scripts)\//.test(name))).toEqual([])
  const { scripts, gypfile } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect(gypfile).toBe(false)
  expect(Object.keys(scripts)).not.toEqual(expect.arrayContaining([expect.stringMatching(/install$/)]))
})

test(`it is small: ${MOST_BYTES} bytes at the most`, () => {
  expect(statSync(join(folder, tarball)).size).toBeLessThanOrEqual(MOST_BYTES)
})

test('each declaration that one refers to is there', () => {
  const declarations = files.filter((name) => name.endsWith('.d.ts'))
  expect(declarations.length).toBeGreaterThan(50)
  for (const name of declarations)
    for (const [, other = ''] of readFileSync(join(installed, name), 'utf8').matchAll(
      /["'](\.[^"']*)\.[jt]s["']/g,
    ))
      expect(declarations, name).toContain(join(dirname(name), `${other}.d.ts`))
})

test('the pages in it link to what is in it', () => {
  const pages = files.filter((name) => name.endsWith('.md'))
  expect(pages.length).toBeGreaterThan(20)
  const dead = pages.flatMap((page) =>
    [...readFileSync(join(installed, page), 'utf8').matchAll(/\]\(([^)#\s]+)/g)]
      .map(([, to = '']) => to)
      .filter((to) => !to.startsWith('https:') && !existsSync(join(installed, dirname(page), to)))
      .map((to) => `${page} -> ${to}`),
  )
  expect(dead).toEqual([])
})

// See scripts/build-ts.mjs.
test('no character beyond ASCII makes a module twice as long to read', () => {
  const modules = files.filter((name) => /^dist\/.*\.js$/.test(name))
  expect(modules.length).toBeGreaterThan(10)
  for (const name of modules)
    expect(readFileSync(join(installed, name), 'latin1'), name).not.toMatch(/[^\0-\x7f]/)
})

test.runIf(isLong)(
  'npm pack elsewhere, with all compiled anew, makes the same bytes, and leaves no prebuilt addon',
  () => {
    const [copy, again] = [mkdtempSync(join(folder, 'other-place-')), join(folder, 'again')]
    mkdirSync(again)
    const made = /^(\.git|build|dist|out|prebuilds|native\/build)$/
    const filter = (path: string) => isNotInstalled(path) && !made.test(relative(ROOT, path))
    cpSync(ROOT, copy, { recursive: true, filter })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    // Looks like a clone in which `npm ci --prefix examples` has run.
    mkdirSync(join(copy, 'examples/node_modules/next'), { recursive: true })
    writeFileSync(join(copy, 'examples/node_modules/next/index.js'), '')
    // CI's compilers remember what they have made: this one must compile anew.
    run('env', ['CCACHE_DISABLE=1', 'npm', 'pack', '--pack-destination', again], copy)
    const digest = (directory: string) =>
      createHash('sha256')
        .update(readFileSync(join(directory, tarball)))
        .digest('hex')
    expect(digest(again)).toBe(digest(folder))
    expect(readdirSync(copy)).not.toContain('prebuilds')
  },
)

test('run-time dependencies: bindings, and what it brings', () => {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  const tree = Object.keys(lock.packages).filter((name) => name !== '')
  expect(tree.sort()).toEqual([
    'node_modules/bindings',
    'node_modules/file-uri-to-path',
    'node_modules/inotify-bridge',
  ])
})

test.each(['esm.mjs', 'cjs.cjs'])('%s sees an IN_MOVED_TO', (file) => {
  writeMoves(folder)
  expect(run(process.execPath, [file])).toBe(SEEN_MOVE)
})

/** Names that each entry point gives beside the errors, and the parts of the package that are loaded with it. */
const ENTRIES: Record<string, { names: string[]; parts: string[] }> = {
  inotify: { names: ['Fanotify', 'Inotify', 'formatMask', 'IN_MOVED_TO'], parts: [] },
  diagnose: { names: ['diagnose'], parts: ['faces'] },
  publish: { names: ['moveFile', 'publishDirectory', 'replaceFile'], parts: ['faces'] },
  mirror: { names: ['KATA_LIMITS', 'Mirror', 'mirror'], parts: ['faces'] },
  watch: { names: ['Watcher', 'waitFor', 'watch'], parts: ['engine', 'mounts', 'replace', 'watcher'] },
  reload: { names: ['Reloader', 'reload'], parts: ['reload', 'watcher'] },
}

test.each(Object.entries(ENTRIES))(
  'inotify-bridge/%s: by import and require the things that the whole has, and no others',
  (entry, { names }) => {
    const script = `const part = await import('inotify-bridge/${entry}'), whole = await import('inotify-bridge')
      const { createRequire } = await import('node:module')
      const required = createRequire(import.meta.url)('inotify-bridge/${entry}')
      const isOne = (name) => part[name] !== undefined && part[name] === whole[name] && part[name] === required[name]
      console.log(Object.keys(part).filter((name) => !/^IN_(?!MOVED_TO)/.test(name)).map((name) => name + isOne(name)).join())`
    writeFileSync(join(folder, 'entry.mjs'), script)
    const all = ['AddonLoadError', 'InotifyError', ...names]
    expect(run(process.execPath, ['entry.mjs']).trim().split(',').sort()).toEqual(
      all.map((name) => `${name}true`).sort(),
    )
  },
)

const FS = { names: [], parts: ['engine', 'fs', 'mounts', 'replace', 'watcher'] }

test('inotify-bridge/fs: by import and require what is named as in node:fs', () => {
  const script = `const part = await import('inotify-bridge/fs')
    const { createRequire } = await import('node:module')
    const required = createRequire(import.meta.url)('inotify-bridge/fs')
    console.log(Object.keys(part).sort().map((name) => name + (part[name] === required[name])).join(), typeof part.promises.watch)
    part.watch('.').close()`
  writeFileSync(join(folder, 'entry.mjs'), script)
  expect(run(process.execPath, ['entry.mjs']).trim()).toBe(
    'defaulttrue,promisestrue,unwatchFiletrue,watchtrue,watchFiletrue function',
  )
})

test('inotify-bridge/register, and the command that sets it: by the name in NODE_OPTIONS, and from any directory', () => {
  const hasHint = `try { require('fs').watch('/no/such') } catch (error) { console.log('hint' in error) }`
  const cli = join(folder, 'node_modules/.bin/inotify-bridge')
  expect(run(cli, ['exec', '--', process.execPath, '-e', hasHint], tmpdir())).toBe('true\n')
  const options = 'NODE_OPTIONS=--import inotify-bridge/register'
  expect(run('env', [options, process.execPath, '-e', hasHint])).toBe('true\n')
})

test.runIf(['x64', 'arm64'].includes(process.arch))(
  'inotify-bridge/run: by import and require, and it finds its program',
  () => {
    const script = `const { run } = await import('inotify-bridge/run')
    const { createRequire } = await import('node:module')
    const { run: required, RunningProgram } = createRequire(import.meta.url)('inotify-bridge/run')
    const program = run('sh', ['-c', 'exit 7'], { try: true })
    program.on('exit', (code) => console.log(code, run === required, program instanceof RunningProgram))`
    writeFileSync(join(folder, 'entry.mjs'), script)
    expect(run(process.execPath, ['entry.mjs'])).toBe('7 true true\n')
  },
)

const CHOKIDAR = { names: [], parts: ['chokidar', 'watcher'] }
const PARCEL = { names: [], parts: ['parcel', 'watcher'] }
const RUN = { names: [], parts: ['run'] }

test.each([
  ...Object.entries(ENTRIES),
  ['fs', FS] as const,
  ['chokidar', CHOKIDAR] as const,
  ['parcel', PARCEL] as const,
  ['run', RUN] as const,
])('inotify-bridge/%s loads no more than it needs', (entry, { parts }) => {
  const dist = join(installed, 'dist')
  const loaded = new Set<string>()
  const load = (file: string) => {
    if (loaded.has(file)) return
    loaded.add(file)
    const text = readFileSync(join(dist, file), 'utf8')
    for (const [, other] of text.matchAll(/(?:from |import )"\.\/([^"]+)"/g)) load(other as string)
    // Parts import no module of Node but node:module, which is there before any program.
    expect(text).not.toMatch(/from "node:(?!module")/)
  }
  load(`${entry}.js`)
  const ofOurs = [...loaded].filter((file) => file.endsWith('.part.js') && !file.startsWith('rolldown'))
  expect(ofOurs.map((file) => file.replace(/-[\w-]{8}\.part\.js$/, '')).sort()).toEqual(['base', ...parts])
})

// Each as its documentation has it for a program of Node, with nothing said of this package.
test.each([
  ['esbuild', 'esm'],
  ['esbuild', 'cjs'],
  // These two take seconds each.
  ...(isLong
    ? [
        ['rollup', 'esm'],
        ['rollup', 'cjs'],
        ['webpack', 'esm'],
        ['webpack', 'cjs'],
      ]
    : []),
] as Array<[string, string]>)(
  'a bundle that %s makes of watch(), as %s, finds the addon, sees a change, and has nothing of mirror and reload',
  (bundler, format) => {
    const directory = mkdtempSync(join(folder, 'bundled-'))
    writeFileSync(
      join(directory, 'entry.mjs'),
      `import { mkdtempSync, writeFileSync } from 'node:fs'
     import { watch } from 'inotify-bridge/watch'
     const directory = mkdtempSync('watched-')
     const watcher = watch(directory)
     watcher.ready.then(() => writeFileSync(directory + '/made', ''))
     watcher.on('changes', ([{ type, path }]) => {
       console.log(type, path.slice(-5))
       watcher.close()
     })`,
    )
    run(process.execPath, [join(ROOT, 'test/pack/bundled.mjs'), bundler, format, directory])
    const made = join(directory, 'made')
    const file = `entry.${format === 'cjs' ? 'cjs' : 'mjs'}`
    // As it is, as a command that is a link from elsewhere, and as another program's module.
    const [command, host] = [
      join(mkdtempSync(join(tmpdir(), 'bin-')), 'command'),
      join(directory, 'host.mjs'),
    ]
    symlinkSync(join(made, file), command)
    writeFileSync(host, `import './made/${file}'`)
    for (const program of [join(made, file), command, host])
      expect(run(process.execPath, [program])).toBe('create /made\n')
    // One of each: a face that had been left in would have brought what is loaded when it is first called.
    expect(readdirSync(made)).toHaveLength(1)
    const text = readFileSync(join(made, file), 'utf8')
    expect(['overLimit', 'rollout', 'AtomicWriter'].filter((word) => text.includes(word))).toEqual([])
  },
)

test('a bundle takes the addon of no other version than its own', () => {
  const directory = mkdtempSync(join(folder, 'bundled-'))
  writeFileSync(
    join(directory, 'entry.mjs'),
    `import { Inotify } from 'inotify-bridge/inotify'\nnew Inotify().close()`,
  )
  run(process.execPath, [join(ROOT, 'test/pack/bundled.mjs'), 'esbuild', 'esm', directory])
  const other = join(directory, 'node_modules/inotify-bridge')
  mkdirSync(other, { recursive: true })
  writeFileSync(join(other, 'package.json'), '{ "name": "inotify-bridge", "version": "0.0.1" }')
  const { status, stderr } = spawnSync(process.execPath, [join(directory, 'made/entry.mjs')], {
    encoding: 'utf8',
  })
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /inotify-bridge has no addon[\s\S]*install inotify-bridge \d+\.\d+\.\d+, the version of the bundle/,
  )
})

// Node prints the line that throws, and that line must not be all 200 KB of the package.
test('an error that nobody catches can be read', () => {
  const script = `import { Inotify, mirror } from 'inotify-bridge'\nprocess.argv[2] === 'add' ? new Inotify().add('/none', 2) : await mirror('/none', '/none')`
  writeFileSync(join(folder, 'uncaught.mjs'), script)
  for (const what of ['add', 'mirror']) {
    const { stderr } = spawnSync(process.execPath, ['uncaught.mjs', what], { cwd: folder, encoding: 'utf8' })
    expect(stderr).toContain('InotifyError: ENOENT')
    expect(stderr.length).toBeLessThan(2000)
  }
})

test('what is loaded when it is first called, and is gone by then, is an InotifyError that says what to do', () => {
  const directory = mkdtempSync(join(folder, 'replaced-'))
  const copy = join(directory, 'node_modules/inotify-bridge')
  cpSync(installed, copy, { recursive: true })
  const script = `import { readdirSync, rmSync } from 'node:fs'
    import { InotifyError, diagnose, mirror, moveFile, publishDirectory, reload, replaceFile, watch } from 'inotify-bridge'
    const dist = ${JSON.stringify(join(copy, 'dist'))}
    // An upgrade, under a process that runs: what comes has other names.
    for (const name of readdirSync(dist)) if (name.endsWith('.part.js')) rmSync(dist + '/' + name)
    const reloading = async () => {
      const reloader = reload({ paths: ['/'], action: { command: ['true'] } })
      reloader.on('error', ({ code }) => console.log(code))
      await reloader.ready
    }
    const calls = [() => replaceFile('x', ''), () => moveFile('x', 'y'), () => publishDirectory('x', {}), () => mirror('/', 'x'), () => diagnose('/'), () => watch('/').ready, reloading]
    for (const call of calls)
      await call().catch((error) => console.log(error instanceof InotifyError, error.code, error.syscall, error.hint.slice(-20)))`
  writeFileSync(join(directory, 'replaced.mjs'), script)
  const said = run(process.execPath, ['replaced.mjs'], directory)
  expect(said).toBe(
    `${'true ENOENT import restart this process\n'.repeat(6)}ENOENT\ntrue ENOENT import restart this process\n`,
  )
})

test.runIf(isLong)('what package.json says of the entry points and their types is right', () => {
  const bin = join(ROOT, 'node_modules', '.bin')
  expect(run(join(bin, 'publint'), ['run', tarball, '--strict'])).toContain('All good!')
  // ESM alone: require() of it is Node's own.
  run(join(bin, 'attw'), [tarball, '--profile', 'esm-only'])
})

test('the command is installed', () => {
  expect(run(join(folder, 'node_modules/.bin/inotify-bridge'), ['diagnose', folder])).toContain('backend')
})

test.skipIf(!mayUnshare)('the command finds its program: mirror --in-place (needs unshare -rm)', () => {
  const source = join(folder, 'source')
  mkdirSync(source)
  writeFileSync(join(source, 'key'), 'one')
  const command = join(folder, 'node_modules/.bin/inotify-bridge')
  const line = [command, 'mirror', source, '--in-place', '--', 'stat', '-f', '-c', '%T', join(source, 'key')]
  expect(run('unshare', ['-rm', ...line])).toBe('tmpfs\n')
})

test.runIf(isLong)('a strict TypeScript consumer compiles against its types', () => {
  writeFileSync(
    join(folder, 'consumer.ts'),
    `import { type Change, type EventBatch, Inotify, IN_CREATE, type Mirror, mirror, watch } from 'inotify-bridge'
     const inotify: Inotify = new Inotify({ batchWindow: 1 })
     const wd: number = inotify.add('/tmp', IN_CREATE)
     inotify.on('events', (batch: EventBatch) => { const name: string = batch.name(0); console.log(wd, name) })
     const watcher = watch('/tmp')
     watcher.on('changes', (changes: Change[]) => { for (const change of changes) if (change.type === 'rename') console.log(change.from) })
     const mirrored: Promise<Mirror> = mirror('/a', '/b')
     mirrored.then((m) => m.on('update', ({ changed, generation }) => console.log(changed.join(), generation + 1)))
     // @ts-expect-error there is no such event
     inotify.on('event', () => {})
     // @ts-expect-error a mask is a number
     inotify.add('/tmp', 'IN_CREATE')\n`,
  )
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'))
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
  expect(run(tsc, [...flags, '--lib', 'es2023,esnext.disposable', 'consumer.ts'])).toBe('')
})
