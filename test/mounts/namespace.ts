import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** True if this user may make a user and mount namespace, and mount in it. */
export const mayUnshare =
  spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /mnt || mount -t tmpfs none /tmp']).status ===
  0

/** A shell's mount namespace, seen from outside through /proc. */
export interface Namespace extends Disposable {
  /** The directory that the script ran in. */
  directory: string
  /** The output of the script before 'ready'. */
  output: string
  /** The namespace's mount table. */
  mountinfo(): string
  /** A path of the namespace as this process can reach it. */
  reach(path: string): string
}

/** Runs a script in a namespace and an empty directory of its own, and keeps both until disposed of. */
export async function enterNamespace(script: string): Promise<Namespace> {
  const directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-ns-'))
  const child = spawn('unshare', ['-rm', 'sh', '-ec', `${script}\necho ready; exec cat`], {
    cwd: directory,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const output = await untilReady(child)
  const proc = `/proc/${child.pid}`
  return {
    directory,
    output,
    mountinfo: () => readFileSync(`${proc}/mountinfo`, 'utf8'),
    reach: (path) => `${proc}/root${path}`,
    [Symbol.dispose]() {
      child.kill('SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function untilReady(child: ChildProcess): Promise<string> {
  let output = ''
  const exited = once(child, 'exit').then(() => {
    throw new Error('the script in the namespace failed')
  })
  exited.catch(() => undefined)
  while (!output.endsWith('ready\n')) {
    const data = await Promise.race([once(child.stdout ?? child, 'data'), exited])
    output += String(data[0])
  }
  return output.slice(0, -'ready\n'.length)
}
