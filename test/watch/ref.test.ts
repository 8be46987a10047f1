// Options `persistent`, ref() and unref(): if a process stays for its watchers. Each case runs in a process
// that has nothing else to do.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { isBuilt } from './child.ts'

const INDEX = JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))

/**
 * Runs a process that watches a directory, and does `then` once the watcher is ready. A timer that does not
 * keep the process makes a file. Returns 'told' if the process stayed for long enough to be told of the file.
 *
 * @param after the ms until the file is made
 */
function run(options: object, then: string, after: number): string {
  const directory = JSON.stringify(scratch())
  const program = `
    const { watch } = await import(${INDEX})
    const { writeFileSync } = await import('node:fs')
    const watcher = watch(${directory}, ${JSON.stringify(options)})
    watcher.on('changes', () => { console.log('told'); watcher.close() })
    watcher.on('ready', () => {
      ${then}
      setTimeout(() => {
        writeFileSync(${directory} + '/file', '')
        watcher.sync().catch(() => {})
      }, ${after}).unref()
    })`
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 60_000,
  })
}

describe.skipIf(!isBuilt)('a process and its watcher (needs dist)', () => {
  describe.each([{ backend: 'inotify' }, { backend: 'poll' }, { backend: 'poll', interval: 1_000_000 }])(
    '%o',
    (options) => {
      test.each([
        ['', {}],
        ['watcher.unref(); watcher.ref()', {}],
        ['watcher.ref()', { persistent: false }],
        ['watcher.unref().ref().ref()', { persistent: false, settle: 1 }],
      ])('it stays: %s %o', (then, more) => expect(run({ ...options, ...more }, then, 200)).toBe('told\n'))

      test.each([
        ['watcher.unref()', {}],
        ['', { persistent: false }],
        ['watcher.ref().unref()', { persistent: false }],
        ['watcher.unref()', { settle: 1_000_000 }],
      ])('it ends: %s %o', (then, more) => expect(run({ ...options, ...more }, then, 10_000)).toBe(''))
    },
  )

  test('it stays for one that is open, though nothing is watched, until it is closed; and not for one that never was', () => {
    const program = `
      const { watch } = await import(${INDEX})
      const watcher = watch([])
      for (const wrong of [[7], ['/', { settle: -1 }]]) try { watch(...wrong) } catch ({ name }) { console.log(name) }
      await watcher.ready
      setTimeout(() => { console.log('stayed'); watcher.close() }, 200).unref()`
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect(said).toBe('TypeError\nTypeError\nstayed\n')
  })
})
