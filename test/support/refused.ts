import { execFile, spawnSync } from 'node:child_process'
import { constants } from 'node:os'
import { promisify } from 'node:util'
import { compile } from './compile.ts'

type Errno = keyof typeof constants.errno

/** Whether the kernel lets a program be refused system calls. No right is needed for it. */
export const mayRefuse = spawnSync(compile('seccomp'), ['1', 'statx', 'true']).status === 0

/** What a program of Node's writes to which the kernel refuses some system calls with an errno. Rejects as it fails. */
export async function refused(errno: Errno, calls: string, ...program: string[]): Promise<string> {
  const words = [`${constants.errno[errno]}`, calls, process.execPath, ...program]
  return (await promisify(execFile)(compile('seccomp'), words, { timeout: 60_000 })).stdout
}
