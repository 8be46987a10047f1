import { lstatSync, realpathSync, statSync } from 'node:fs'
import { lstat, readFile, readlink, realpath, stat } from 'node:fs/promises'
import { constants } from 'node:os'
import { basename, dirname } from 'node:path'
import { FanotifySource, fanotifyError } from '../inotify/fanotify_source.ts'
import { watchesIn } from '../inotify/fdinfo.ts'
import { nativeQueue } from '../inotify/inotify.ts'
import { inotifyLimits } from '../inotify/limits.ts'
import { openShare } from '../inotify/shared_instance.ts'
import { type Choice, chooseBackend } from '../mounts/filesystems.ts'
import { isMountPoint, mountOf } from '../mounts/mount_of.ts'
import type { MountTable } from '../mounts/mount_table.ts'
import { MountWatch, mountTable } from '../mounts/mount_watch.ts'
import type { Mount } from '../mounts/mountinfo.ts'
import { chooseForPath } from '../mounts/mounts_on_path.ts'
import { nearLinks } from '../mounts/near_links.ts'
import { NearMounts } from '../mounts/near_mounts.ts'
import {
  followTogether as followAllTogether,
  followUpToCircle,
  linkTarget,
  type ReadLink,
  type Resolved,
} from '../mounts/syscalls/symlinks.ts'
import { keysOf, pathOf, textOf } from '../name_key.ts'
import { replaceFileAs } from '../publish/replace_file.ts'
import { relayToken } from '../relay/address.ts'
import { RelayClient } from '../relay/relay_client.ts'
import { systemClock } from './clock.ts'
import { DIRECTORY_MASK } from './events/watch_mask.ts'
import { isMissing, isShortage } from './report/watch_error.ts'
import { kindOf } from './roots/file_entry.ts'
import { Walker } from './scan/walker.ts'
import type { SeenNow, SurveyedDirectory, WatchSystem } from './system.ts'
import { MOST_ENTRIES } from './tree/entry_cache.ts'

// Filesystems that nobody means to have polled below a watched tree: their entries are processes and devices.
const PSEUDO = new Set([
  'proc',
  'sysfs',
  'devpts',
  'debugfs',
  'tracefs',
  'securityfs',
  'configfs',
  'bpf',
  'pstore',
  'efivarfs',
  'binfmt_misc',
  'fusectl',
  'selinuxfs',
  'mqueue',
  'nsfs',
])

export const linux: WatchSystem = {
  choose: async (path) => {
    const resolved = await follow(path, targetOf)
    return await chooseIn(mountTable(), path, resolved)
  },
  survey: async (directories) => {
    const table = mountTable()
    const points = namesByDirectory(table.points)
    const found = new Map<string, SurveyedDirectory>()
    const survey = async (path: string) => {
      const resolved = await resolveAt(path, table)
      if (resolved === undefined) return
      const choice = await chooseIn(table, path, resolved)
      if (choice.backend === 'inotify')
        found.set(path, { resolved, choice, mounted: points.get(resolved.realPath) ?? NONE })
    }
    await Promise.all(directories.map((path) => survey(path).catch(() => {})))
    return found
  },
  lookNow: () => {
    const near = new NearMounts()
    return (path, followsLast) => {
      try {
        return seeNow(near, path, followsLast)
      } catch (error) {
        return isMissing(error) ? 'missing' : undefined
      }
    }
  },
  served: (paths) => {
    const near = new NearMounts()
    return paths.filter((path) => near.leadsToServer(path))
  },
  pseudoType: async (path) => {
    const { type } = lookUp(mountTable(), path)
    return PSEUDO.has(type) ? type : undefined
  },
  isSymlink: async (path) => (await lstat(pathOf(path))).isSymbolicLink(),
  isMountPoint: async (path) => {
    const served = mountTable().servedMountOf(path)
    return served === undefined ? isMountPoint(path) : served.point === path
  },
  followTogether: async (paths) => {
    const [path] = paths
    // A path that is missing or unreadable cannot be told to be a link: so a path is resolved as far as it leads.
    if (path !== undefined && paths.length === 1)
      return [await follow(path, (entry) => read(entry).catch(() => undefined))]
    const said = new Map<string, ReturnType<ReadLink>>()
    const readAny: ReadLink = (entry) => read(entry).catch(() => undefined)
    const readLink = paths.length < MANY ? readAny : nearLinks(readAny)
    const readOnce: ReadLink = (entry, path) => {
      if (said.has(entry)) return said.get(entry)
      const target = readLink(entry, path)
      said.set(entry, target)
      return target
    }
    return await followAllTogether(paths, readOnce)
  },
  watchMounts: (changed) => new MountWatch(changed),
  openInotify: (_, owner) => openShare(owner),
  openFanotify: (take, fail) => {
    const source = new FanotifySource(take, fail)
    source.unref()
    return {
      add: (path) => {
        const real = new NearMounts().realPath(path)
        if (real === undefined) throw fanotifyError(constants.errno.ENODEV, 'fanotify_mark', textOf(path))
        // The mount point stays when the path goes.
        source.add(pathOf(lookUp(mountTable(), real).point || real))
        return real
      },
      read: () => source.read(),
      close: () => source.close(),
    }
  },
  kernelWatches: async (inotify) => {
    try {
      return new Set(watchesIn(await readFile(`/proc/self/fdinfo/${inotify[nativeQueue].fd()}`, 'latin1')))
    } catch (error) {
      if (isShortage(error)) throw error
      return undefined
    }
  },
  watches: (asked) => {
    if (asked >= 1) return asked
    // NaN, where /proc does not say: there is no limit then.
    const { maxUserWatches, watchesInUse } = inotifyLimits()
    return Math.floor(asked * (maxUserWatches - watchesInUse))
  },
  openWalker: () => new Walker(DIRECTORY_MASK),
  openRelay: (address, listener) => new RelayClient(address, relayToken(), listener),
  clock: systemClock,
  saving: {
    read: (path) => readFile(pathOf(path)),
    write: async (path, data) => {
      // The names in it may be nobody else's business.
      await replaceFileAs(path, { data, mode: undefined, newMode: 0o600 })
    },
    bootId: () => readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => ''),
    filesystemOf: async (path) => {
      const { dev } = await stat(pathOf(path), { bigint: true })
      const { type, source } = lookUp(mountTable(), path)
      return { type, source, device: `${dev}` }
    },
  },
  entryCacheSize: MOST_ENTRIES,
}

const NONE: ReadonlySet<string> = new Set()

/** From this many paths on, a look at the mount table pays. */
const MANY = 8

// Links, and the paths that they lead to, are keys: they may be no UTF-8.
const read = async (entry: string) => keysOf(await readlink(pathOf(entry), 'buffer'))
const targetOf: ReadLink = (entry, path) => linkTarget(entry, textOf(path), read)

function namesByDirectory(paths: Iterable<string>): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>()
  for (const path of paths) {
    const directory = dirname(path)
    names.set(directory, (names.get(directory) ?? new Set()).add(basename(path)))
  }
  return names
}

/**
 * Resolves a directory's path; undefined where inotify does not tell all of it. Rejects if it cannot be followed. Mostly there are
 * no links: this thread can ask that for a fifth of the work, and choosing a source by its mount has asked as much in it before.
 */
async function resolveAt(path: string, table: MountTable): Promise<Resolved | undefined> {
  const mount = table.servedMountOf(path) ?? table.mountOf(pathOf(path))
  if (mount === undefined || chooseBackend(mount).backend !== 'inotify') return undefined
  const real = keysOf(realpathSync.native(pathOf(path), 'buffer'))
  return real === path ? asItIs(path) : await followUpToCircle(path, targetOf)
}

/** See {@link WatchSystem.lookNow}. Throws as a path cannot be looked at. */
function seeNow(near: NearMounts, path: string, followsLast: boolean): SeenNow | undefined {
  if (!near.has(path)) return undefined
  const own = lstatSync(pathOf(path), NEVER_THROWS)
  if (own === undefined || !own.isSymbolicLink()) return own === undefined ? 'missing' : kindOf(own)
  if (!followsLast) return 'symlink'
  return near.leadTo(path) ? kindOf(statSync(pathOf(path))) : undefined
}

const NEVER_THROWS = { throwIfNoEntry: false } as const

/** Chooses a source for a resolved path by the table. Rejects as {@link lookUp} throws. */
function chooseIn(table: MountTable, path: string, resolved: Resolved): Promise<Choice> {
  const real = (each: string) => (each === path ? resolved.realPath : each)
  return chooseForPath(
    path,
    (each) => lookUp(table, real(each)),
    async () => resolved,
  )
}

/** Returns the mount of an existing path without symlinks. Throws InotifyError as statx(2) fails, but for a mount whose server may have stopped: that is not asked. */
function lookUp(table: MountTable, path: string): Mount {
  return table.servedMountOf(path) ?? table.mountOf(pathOf(path)) ?? mountOf(pathOf(path))
}

function asItIs(path: string): Resolved {
  return { realPath: path, linkDirectories: [], links: [], left: [] }
}

async function follow(path: string, readLink: ReadLink): Promise<Resolved> {
  // Mostly there are no links, and one call says so. The slow way tells the errors of that call as well.
  const real = realPathNow(path) ?? (await realpath(pathOf(path), 'buffer').then(keysOf, () => undefined))
  return real === path ? asItIs(path) : await followUpToCircle(path, readLink)
}

/** Returns the path without symlinks, within the call: a fifth of the work. undefined: the path leads nowhere, or over a mount whose server may have stopped. */
function realPathNow(path: string): string | undefined {
  try {
    return new NearMounts().realPath(path)
  } catch {
    return undefined
  }
}
