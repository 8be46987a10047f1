import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { Program } from './command.ts'

/** For unshare(1): a pid namespace, whose process 1 is what follows and goes with unshare itself. */
export const AS_PROCESS_1 = ['-rpf', '--mount-proc', '--kill-child']

/** True if this user may make a user and pid namespace, and mount its /proc. */
export const mayBeProcess1 = spawnSync('unshare', [...AS_PROCESS_1, 'true']).status === 0

/** The children of a process, as this pid namespace numbers them. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

/** A program as process 1 of a pid namespace. */
export class Process1 extends Program {
  constructor(argv: string[], options?: ConstructorParameters<typeof Program>[2]) {
    super('unshare', [...AS_PROCESS_1, ...argv], options)
  }

  /** Its pid out here. */
  async outerPid(): Promise<number> {
    await expect.poll(() => childrenOf(this.pid), { interval: 5, timeout: 60_000 }).toHaveLength(1)
    return childrenOf(this.pid)[0] as number
  }
}
