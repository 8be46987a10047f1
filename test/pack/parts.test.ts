// Loading of inotify-bridge when first called: the engine of watch() is most of the package, and the import has none of it.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Circumstances {
  packageRoot?: string
  entry?: string
  /** The limit of open descriptors. */
  limit?: string
  /** Options of Node. */
  flags?: readonly string[]
}

/** Runs a program. Returns its stdout, parsed as JSON. `bridge` is the package, `directory` one to watch. */
function run(
  program: string,
  { packageRoot = ROOT, entry = 'index', limit = 'unlimited', flags = [] }: Circumstances = {},
): unknown {
  const script = `
    const bridge = await import(${JSON.stringify(join(packageRoot, `dist/${entry}.js`))})
    const directory = ${JSON.stringify(scratch())}
    const say = (what) => console.log(JSON.stringify(what))
    const failure = ({ code, syscall, message }) => ({ code, syscall, message })
    ${program}`
  const node = [process.execPath, ...flags, '--input-type=module', '-e', script]
  const shell = ['-c', 'ulimit -n "$0" 2>/dev/null; exec "$@"', limit, ...node]
  const said = execFileSync('bash', shell, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  })
  return JSON.parse(said)
}

/** A copy of the package in which the engine is not to be found, as where it has been replaced while a process ran. */
function withoutEngine(): string {
  const copy = scratch()
  for (const name of ['dist', 'package.json']) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  for (const name of ['build', 'node_modules']) symlinkSync(join(ROOT, name), join(copy, name))
  const engine = readdirSync(join(copy, 'dist')).filter((name) => /^engine-.*\.part\.js$/.test(name))
  expect(engine).toHaveLength(1)
  rmSync(join(copy, 'dist', engine[0] as string))
  return copy
}

describe.skipIf(!existsSync(join(ROOT, 'dist/index.js')))('the parts of dist (needs dist)', () => {
  test('without its engine the package is imported, all but watch() works, and watch() says what is wrong', () => {
    const said = run(
      `
      const watcher = bridge.watch(directory)
      const errors = []
      watcher.on('error', (error) => errors.push(failure(error)))
      const closed = new Promise((resolve) => watcher.on('close', resolve))
      const ready = await watcher.ready.catch(failure)
      await closed
      const inotify = new bridge.Inotify()
      say({ ready, errors, wd: inotify.add(directory, bridge.IN_CREATE), coverage: watcher.coverage(), sync: await watcher.sync().catch(failure) })
      inotify.close()`,
      { packageRoot: withoutEngine() },
    )
    const failure = {
      code: 'ENOENT',
      syscall: 'import',
      message: expect.stringMatching(
        /a part of inotify-bridge could not be loaded: .*; restart this process/,
      ),
    }
    expect(said).toEqual({ ready: failure, errors: [failure], wd: 1, coverage: [], sync: failure })
  })

  test('inotify-bridge/watch comes with its engine, which is not looked for any more by watch()', () => {
    expect(() => run('', { packageRoot: withoutEngine(), entry: 'watch' })).toThrow(
      /Cannot find module .*engine/,
    )
    const said = run(
      `
      const fs = await import('node:fs')
      const dist = ${JSON.stringify(join(ROOT, 'dist'))}
      const all = []
      try { for (;;) all.push(fs.openSync('/dev/null')) } catch {}
      // An inotify instance, an epoll of its own, what a thread looks at.
      for (const fd of all.splice(-12)) fs.closeSync(fd)
      const watcher = bridge.watch(directory)
      const before = watcher.coverage()
      await watcher.ready
      say({ before, after: watcher.coverage().length })
      await watcher.close()`,
      { entry: 'watch', limit: '256' },
    )
    expect(said).toEqual({ before: [], after: 1 })
  })

  test('without a descriptor for the engine watch() fails with EMFILE, and nothing else does', () => {
    const said = run(
      `
      const fs = await import('node:fs')
      const all = []
      try { for (;;) all.push(fs.openSync('/dev/null')) } catch {}
      const ready = await bridge.watch(directory).ready.catch(failure)
      for (const fd of all) fs.closeSync(fd)
      say(ready)`,
      { limit: '256' },
    )
    expect(said).toMatchObject({ code: 'EMFILE', syscall: 'import' })
  })

  describe.each([
    ['within the call', []],
    ['behind it, where modules cannot be required', ['--no-experimental-require-module']],
  ])('the engine is loaded %s', (_, flags) => {
    test('what is asked of a watcher before the engine is there is done when it is', () => {
      const said = run(
        `
      const fs = await import('node:fs')
      const changes = []
      const other = directory + '/other'
      fs.mkdirSync(other)
      const watcher = bridge.watch([])
      watcher.on('changes', (batch) => changes.push(...batch.map(({ type, path }) => type + ' ' + path.slice(directory.length))))
      const before = watcher.coverage()
      const added = watcher.add(directory)
      const removed = watcher.add(other).then(() => watcher.remove(other))
      await watcher.sync()
      await Promise.all([added, removed])
      fs.writeFileSync(directory + '/a', '')
      fs.writeFileSync(other + '/b', '')
      await watcher.sync()
      say({ before, after: watcher.coverage().map(({ path }) => path === directory), changes })
      await watcher.close()`,
        { flags },
      )
      expect(said).toEqual({ before: [], after: [true], changes: ['create /a'] })
    })

    test('a watcher that is closed or aborted before the engine is there ends, and the process with it', () => {
      const said = run(
        `
      const closing = bridge.watch(directory)
      const ready = closing.ready.catch(failure)
      await closing.close()
      const ending = new AbortController()
      const aborted = bridge.watch(directory, { signal: ending.signal })
      ending.abort(new Error('enough'))
      const why = await aborted.ready.catch(({ message }) => message)
      const late = bridge.watch(directory)
      await new Promise((resolve) => setImmediate(resolve))
      await late.close()
      say({ ready: (await ready).code, why, late: await late.ready.then(() => 'ready', ({ code }) => code) })`,
        { flags },
      )
      // An engine that was there at once may have been ready within that turn.
      expect(said).toEqual({ ready: 'EBADF', why: 'enough', late: expect.stringMatching(/^(EBADF|ready)$/) })
    })

    test('a watcher that is not persistent does not keep the process, and is ready before it ends', () => {
      const said = run(`bridge.watch(directory, { persistent: false }).ready.then(() => say('ready'))`, {
        flags,
      })
      expect(said).toBe('ready')
    })
  })
})
