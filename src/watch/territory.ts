import type { Backend } from '../mounts/filesystems.ts'
import type { Directory } from './directory.ts'

/**
 * What of a root lies on one mount, and where the changes there come from. Below a symlink that is followed another begins, since it
 * is opened by another path.
 */
export class Territory {
  backend: Backend
  /** One sentence: why this source. */
  why: string
  mountId: number
  /** Where it begins. */
  base: Directory | undefined
  /** Whether its base is reached by a symlink, so that opening it must follow one. */
  readonly isLinked: boolean
  directories = 0
  /** Directories that are not watched as they should be, and why. */
  readonly uncovered = new Map<Directory, Error>()
  /** Those of them that are polled for want of a watch. */
  readonly leftover = new Set<Directory>()

  constructor(backend: Backend, why: string, mountId: number, isLinked = false) {
    this.backend = backend
    this.why = why
    this.mountId = mountId
    this.isLinked = isLinked
  }

  /** Mounts below that are not watched at all, by path, and why. */
  readonly refused = new Map<string, Error>()

  refuse(path: string, error: Error): void {
    this.refused.set(path, error)
  }

  get isWatched(): boolean {
    return this.backend !== 'poll'
  }

  get isPolled(): boolean {
    return this.backend !== 'inotify'
  }

  forget(directory: Directory): void {
    this.directories--
    this.uncovered.delete(directory)
    this.leftover.delete(directory)
  }
}
