import { readFileSync } from 'node:fs'
import { addonOrError } from '../../addon.ts'

/** The questions of a reaper to the system. */
export interface ReaperSystem {
  /** Returns the pids of this process's children: those it made, and the orphans it was given. */
  children(): number[]
  /** Reaps a child as the addon does. */
  reap(pid: number): number
}

const linux: ReaperSystem = {
  // proc_pid_children(5) lists one thread's children; the kernel gives orphans to the first thread. Empty if the kernel
  // is built without it (CONFIG_PROC_CHILDREN).
  children() {
    try {
      return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
        .split(' ')
        .filter(Boolean)
        .map(Number)
    } catch {
      return []
    }
  },
  // Without the addon orphans stay: a program whose `exec` cannot load the addon is run all the same.
  reap(pid) {
    const addon = addonOrError()
    return 'reap' in addon ? addon.reap(pid) : 0
  },
}

/**
 * Does the first process's duty in a pid namespace (pid_namespaces(7)): orphans become its children, and stay as zombies until it waits
 * for them. libuv waits only for children that Node has started, by their pids. It must find them, so they are left to it.
 */
export class Reaper implements Disposable {
  /** The children that Node has started, until it says that they have ended. */
  readonly ours = new Set<number>()
  readonly #system: ReaperSystem
  readonly #onChild = () => this.reap()

  private constructor(system: ReaperSystem) {
    this.#system = system
  }

  /** Reaps from now on if this is process 1; any other is given no orphans. */
  static start(system: ReaperSystem = linux, pid: number = process.pid): Reaper {
    const reaper = new Reaper(system)
    if (pid !== 1) return reaper
    process.on('SIGCHLD', reaper.#onChild)
    // Reaps orphans that were given to the process 1 before an exec.
    reaper.reap()
    return reaper
  }

  /** Reaps all children that have ended by now. One signal may stand for many children (signal(7)), so all are checked. */
  reap(): void {
    // A listing that races an exit may miss a neighbour, so sweeps go on until one reaps nothing.
    while (this.#sweep()) {}
  }

  [Symbol.dispose](): void {
    process.off('SIGCHLD', this.#onChild)
  }

  #sweep(): boolean {
    let reaped = false
    for (const pid of this.#system.children())
      if (!this.ours.has(pid) && this.#system.reap(pid) === pid) reaped = true
    return reaped
  }
}
