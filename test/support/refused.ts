import { execFile, spawnSync } from 'node:child_process'
import { constants } from 'node:os'
import { promisify } from 'node:util'
import { compile } from './compile.ts'

type Errno = keyof typeof constants.errno

/** The kernel lets a program install a filter that refuses system calls. The filter needs no right. */
export const mayRefuse = spawnSync(compile('seccomp'), ['1', 'statx', 'true']).status === 0

/**
 * Returns the output of a Node program to which the kernel refuses some system calls with an errno. Rejects
 * if the program fails.
 */
export async function refused(errno: Errno, calls: string, ...program: string[]): Promise<string> {
  const words = [`${constants.errno[errno]}`, calls, process.execPath, ...program]
  return (await promisify(execFile)(compile('seccomp'), words, { timeout: 60_000 })).stdout
}
