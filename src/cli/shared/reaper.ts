import { readFileSync } from 'node:fs'
import { addonOrError } from '../../addon.ts'

/** What a reaper asks of the system. */
export interface ReaperSystem {
  /** The pids of this process's children: those it made, and those it was given. */
  children(): number[]
  /** As the addon's. */
  reap(pid: number): number
}

const linux: ReaperSystem = {
  // proc_pid_children(5): a thread's own, and it is the first thread to which the kernel gives orphans. Empty where the
  // kernel is built without it (CONFIG_PROC_CHILDREN).
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
  // Without the addon orphans stay; a program whose `exec` cannot load it is run all the same.
  reap(pid) {
    const addon = addonOrError()
    return 'reap' in addon ? addon.reap(pid) : 0
  },
}

/**
 * Does what is the first process's to do in a pid namespace (pid_namespaces(7)): processes whose parent has ended become its
 * children, and stay as zombies until it waits for them. libuv waits for those alone that Node has started, by their pids;
 * it must find those, and they are left to it.
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
    // What was given to whoever was process 1 before an exec.
    reaper.reap()
    return reaper
  }

  /** Whatever has ended by now. One signal may stand for many children (signal(7)), so all are looked at. */
  reap(): void {
    // A listing that races an exit may miss a neighbour: until one has nothing to do.
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
