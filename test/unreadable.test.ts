// Whatever may not be read, searched or written: who calls a function of the package hears of it by an InotifyError that names the path.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRoot } from './support/others.ts'
import { scratch } from './support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../dist/index.js'))

test.skipIf(!isRoot || !isBuilt)(
  'no error of a system call leaves a function of the package as it is (needs root and dist)',
  () => {
    const program = join(import.meta.dirname, 'unreadable.mjs')
    const rejected: Array<{ call: string; isInotifyError: boolean; hasPath: boolean; message: string }> =
      JSON.parse(execFileSync(process.execPath, [program, scratch()], { encoding: 'utf8' }))
    expect(rejected.filter(({ isInotifyError, hasPath }) => !isInotifyError || !hasPath)).toEqual([])
    for (const call of [
      'mirror from',
      'mirror to',
      'replaceFile',
      'publishDirectory',
      'moveFile from',
      'Inotify.add',
    ])
      expect(
        rejected.some((each) => each.call === `${call} neither read nor searched`),
        call,
      ).toBe(true)
  },
)
