import { readFileSync } from 'node:fs'
import { addonOrError } from '../../addon.ts'

/** The questions of a reaper to the system. */
const linux = {
  // The pids of this process's children: those it made, and the orphans it was given. proc_pid_children(5) lists one thread's children; the
  // kernel gives orphans to the first thread. Empty if the kernel is built without it (CONFIG_PROC_CHILDREN).
  children(): number[] {
    try {
      const pids = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').match(/\d+/g)
      return pids?.map(Number) ?? []
    } catch {
      return []
    }
  },
  // Without the addon orphans stay: a program whose `exec` cannot load the addon is run all the same.
  reap(pid: number): number {
    const addon = addonOrError()
    return 'reap' in addon ? addon.reap(pid) : 0
  },
}

/** The children that Node has started, until Node says that they have ended: libuv waits for them by their pids, and must find them. */
export const ours = new Set<number>()

/**
 * Does the first process's duty in a pid namespace (pid_namespaces(7)): orphans become its children, and stay as
 * zombies until it waits for them. Does nothing in any other process, which is given no orphans.
 */
export function startReaper(system = linux, pid: number = process.pid): void {
  if (pid !== 1) return
  const isReaped = (child: number) => !ours.has(child) && system.reap(child) === child
  const reap = () => {
    // One signal may stand for many children (signal(7)). A listing that races an exit may miss a neighbour, so sweeps go on until one
    // reaps nothing.
    while (system.children().filter(isReaped).length > 0) {}
  }
  process.on('SIGCHLD', reap)
  // Reaps orphans that were given to the process 1 before an exec.
  reap()
}
