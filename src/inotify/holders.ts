import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { watchesIn } from './fdinfo.ts'

/** A process with inotify instances, as far as this process may see. */
export interface Holder {
  readonly pid: number
  /** The name as ps(1) has it: the first 15 bytes of the executable's name. */
  readonly name: string
  readonly instances: number
  /** The watches of all its instances. */
  readonly watches: number
}

/**
 * Returns the processes that hold watches of a real uid (inotify(7) counts by that), the one with most first. Processes of other
 * containers count against the limits as well and cannot be seen. An instance shared by two processes after a fork counts for each.
 */
export function readHolders(proc: string, uid: number): Holder[] {
  return processesOf(proc, uid)
    .map((directory) => holder(directory))
    .filter(({ instances }) => instances > 0)
    .sort((a, b) => b.watches - a.watches || b.instances - a.instances)
}

function holder(directory: string): Holder {
  const watches = watchesOfInstances(directory)
  return {
    pid: Number(directory.slice(directory.lastIndexOf('/') + 1)),
    name: (attempt(() => readFileSync(join(directory, 'comm'), 'utf8')) ?? '').trimEnd(),
    instances: watches.length,
    watches: watches.reduce((sum, count) => sum + count, 0),
  }
}

/** Returns the directories of the processes with this real uid. */
function processesOf(proc: string, uid: number): string[] {
  const pids = (attempt(() => readdirSync(proc)) ?? []).filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => join(proc, pid)).filter((directory) => realUid(directory) === uid)
}

function realUid(directory: string): number | undefined {
  const status = attempt(() => readFileSync(join(directory, 'status'), 'utf8'))
  const real = status && /^Uid:\t(\d+)/m.exec(status)?.[1]
  return real ? Number(real) : undefined
}

/** Returns the number of watches of each of a process's instances. */
function watchesOfInstances(directory: string): number[] {
  const fds = attempt(() => readdirSync(join(directory, 'fd'))) ?? []
  return fds
    .filter((fd) => attempt(() => readlinkSync(join(directory, 'fd', fd))) === 'anon_inode:inotify')
    .map((fd) => attempt(() => readFileSync(join(directory, 'fdinfo', fd), 'utf8')))
    .filter((info) => info !== undefined)
    .map((info) => watchesIn(info).length)
}

/** Returns undefined if the read fails: a process may vanish at any step, or be another user's. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
