import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { onTestFinished } from 'vitest'
import { loadAddon } from '../../src/addon.ts'
import { isRoot } from './others.ts'

/** This is root, of the host, and fanotify(7) tells of the directory for temporary files. */
export const mayMark = isRoot && maySee(tmpdir())
export const MARKING = `needs root${mayMark ? '' : ', and fanotify for /tmp'}`

/** A directory for tests that make thousands of files. */
export const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

function maySee(path: string): boolean {
  const fanotify = new (loadAddon().Fanotify)()
  const error = fanotify.open(() => {}) || fanotify.add(path)
  fanotify.close()
  return error === 0
}

/** Starts a process in a directory, which runs JavaScript with node:fs as `fs` when it is told to, until the end of the test. */
export async function acting(cwd: string) {
  const loop = `const fs = require('node:fs')
    process.stdin.on('data', (script) => { eval(String(script)); console.log('done') })`
  const child = spawn(process.execPath, ['-e', loop], { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const does = async (script: string) => {
    child.stdin.write(script)
    await once(child.stdout, 'data')
  }
  await does(';')
  return { by: makerOf(child.pid as number), does }
}

export const makerOf = (pid: number) => ({
  pid,
  comm: readFileSync(`/proc/${pid}/comm`, 'utf8').trimEnd(),
})

/** Has another process make more files than fanotify's queue has room for, and then do something. Nothing is read meanwhile. */
export function overflow(directory: string, script: string): void {
  const room = Number(readFileSync('/proc/sys/fs/fanotify/max_queued_events', 'utf8'))
  const make = `for (let i = 0; i < ${room} + 100; i++) fs.writeFileSync('${directory}/f' + i, '')`
  execFileSync(process.execPath, ['-e', `const fs = require('node:fs'); ${make}; ${script}`])
}
