import type { Backend } from '../../mounts/filesystems.ts'
import { alteration, type Entry, mayBeSame } from '../scan/entry.ts'
import type { Directory } from './directory.ts'

/**
 * What of a root lies on one mount, and where the changes there come from. Below a symlink that is followed another begins, since it
 * is opened by another path.
 */
export class WatchedMount {
  backend: Backend
  /** One sentence: why this source. */
  why: string
  mountId: number
  /** Where it begins. */
  base: Directory | undefined
  /** Whether its base is reached by a symlink, so that opening it must follow one. */
  readonly isLinked: boolean
  /** The symlink by which its base is reached, as it was last seen by whoever looked where it leads. */
  link: Entry | undefined
  /** Grows when something is believed of it that no poll has found: what a poll has seen last is not what is believed then. */
  revision = 0
  /** Grows when all that was listed of it before is out of date. */
  epoch = 0
  directories = 0
  /** Directories that are not watched as they should be, and why. */
  readonly uncovered = new Map<Directory, Error>()
  /** Those of them that are polled for want of a watch; ms since the epoch: what was done in each before has been told. */
  readonly leftover = new Map<Directory, number>()
  /** Mounts below that are not watched at all, and why: by the directory that they are in, and their name there. */
  readonly refused = new Map<Directory, Map<string, Error>>()
  /** Why all of it is polled, if not by its mount. */
  limit: Error | undefined

  constructor(backend: Backend, why: string, mountId: number, isLinked = false) {
    this.backend = backend
    this.why = why
    this.mountId = mountId
    this.isLinked = isLinked
  }

  /** Notes that a mount below is not watched at all, and why. */
  refuse(parent: Directory, name: string, error: Error): void {
    const refused = this.refused.get(parent)
    if (refused === undefined) this.refused.set(parent, new Map([[name, error]]))
    else refused.set(name, error)
  }

  /** Takes {@link refuse} back: something else may be there. Whether there was anything to take back. */
  allow(parent: Directory, name: string): boolean {
    const refused = this.refused.get(parent)
    const wasRefused = refused?.delete(name) ?? false
    if (refused?.size === 0) this.refused.delete(parent)
    return wasRefused
  }

  /** Whether this is the symlink that leads to its base, as far as that can be seen. */
  isLink(entry: Entry): boolean {
    const { link } = this
    return link !== undefined && mayBeSame(link, entry) && alteration(link, entry, 0) === undefined
  }

  get usesInotify(): boolean {
    return this.backend !== 'poll'
  }

  get usesPolling(): boolean {
    return this.backend !== 'inotify'
  }

  /** Has a directory that is another's belong to it, with what is noted of it. */
  take(directory: Directory): void {
    const { mount } = directory
    const error = mount.uncovered.get(directory)
    const refused = mount.refused.get(directory)
    if (error !== undefined) this.uncovered.set(directory, error)
    const toldUntil = mount.leftover.get(directory)
    if (toldUntil !== undefined) this.leftover.set(directory, toldUntil)
    if (refused !== undefined) this.refused.set(directory, refused)
    mount.forget(directory)
    this.directories++
    directory.mount = this
  }

  forget(directory: Directory): void {
    this.directories--
    this.uncovered.delete(directory)
    this.leftover.delete(directory)
    this.refused.delete(directory)
  }
}
