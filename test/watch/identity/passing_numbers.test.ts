// Inode numbers that change while the files do not, as with sshfs, unionfs-fuse and mergerfs once the kernel
// has forgotten a file: see passing_numbers.mjs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt } from '../child.ts'

/** The changes of each watcher, by the watcher's name. */
type Told = Record<string, string[]>

/** The changes of each step. All inode numbers change in each step but the first two. */
const STEPS: Record<string, string[]> = {
  moved: ['rename ./y'],
  movedBack: ['rename ./x'],
  nothing: [],
  again: [],
  written: ['modify ./a/b/f'],
  made: ['create ./a/b/c/new'],
  removed: ['delete ./a/b/c/new'],
  mode: ['attrib ./x'],
  since: [],
}

test.skipIf(!mayUnshare || !isBuilt)(
  'where numbers do not last, what is told is what was changed, whoever asks (needs unshare -rm and dist)',
  async ({ skip }) => {
    const program = join(import.meta.dirname, 'passing_numbers.mjs')
    const child = spawn('unshare', ['-rm', process.execPath, '--no-warnings', program, scratch()], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(code, output).toBe(0)
    const told: Record<string, Told> & { unable?: string } = JSON.parse(output)
    if (told.unable !== undefined) skip(`cannot be mounted here: ${told.unable}`)
    for (const [step, changes] of Object.entries(STEPS)) {
      const { chokidar, parcel, fs, file, flat, ...others } = told[step] ?? {}
      // These watchers describe changes in other words.
      if (changes.length === 0) expect([step, chokidar, parcel, fs]).toEqual([step, [], [], []])
      // These watchers watch one file, and one directory.
      expect([step, file]).toEqual([step, []])
      expect([step, flat]).toEqual([step, changes.some((each) => each.includes('/a/')) ? [] : changes])
      const expected = Object.fromEntries(Object.keys(others).map((who) => [who, changes]))
      expect([step, others]).toEqual([step, expected])
    }
  },
)
