import { InotifyError } from '../../../src/errors.ts'
import type { Backend, Choice } from '../../../src/mounts/filesystems.ts'
import { followUpToCircle, type Resolved } from '../../../src/mounts/syscalls/symlinks.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { SurveyedDirectory, TreeWalker, WatchSystem } from '../../../src/watch/system.ts'
import { FileOperations } from '../kernel/file_operations.ts'
import { FileTree, Refused } from '../kernel/file_tree.ts'
import { InotifyGroup } from '../kernel/inotify_group.ts'
import { type FailingOpens, OpenFailures } from './failing_opens.ts'
import { SimulatedClock } from './simulated_clock.ts'
import { SimulatedInotify } from './simulated_inotify.ts'
import { SimulatedWalker } from './simulated_walker.ts'

export interface WorldOptions {
  /** The backend of the only mount. */
  source: Backend
  /** fs.inotify.max_queued_events. */
  queue: number
  /** fs.inotify.max_user_watches. */
  watches: number
  /** The number of names that one getdents(2) returns. */
  namesPerRead: number
  /** See {@link FileTree}. */
  reusesInos: boolean
  failing: FailingOpens
}

/**
 * One simulated machine: files, an inotify instance, walkers and a clock, behind the engine's interface to
 * Linux.
 */
export class World implements WatchSystem {
  readonly clock = new SimulatedClock()
  // Nothing is saved here.
  readonly saving: WatchSystem['saving'] = linux.saving
  readonly tree: FileTree
  readonly files: FileOperations
  readonly walkers: SimulatedWalker[] = []
  readonly failures: OpenFailures
  /** The asynchronous calls that wait for their answers. */
  readonly calls: Array<() => void> = []
  // The cache is so small that directories are packed as soon as they may be.
  readonly entryCacheSize = 1
  inotify: SimulatedInotify | undefined
  readonly #options: WorldOptions

  constructor(options: WorldOptions) {
    this.#options = options
    this.failures = new OpenFailures(options.failing)
    this.tree = new FileTree(() => this.clock.coarseNow(), options.reusesInos)
    this.files = new FileOperations(this.tree)
  }

  async choose(): Promise<Choice> {
    return { backend: this.#options.source, why: 'simulated' }
  }

  async survey(directories: readonly string[]): ReturnType<WatchSystem['survey']> {
    const choice = await this.choose()
    const found = new Map<string, SurveyedDirectory>()
    for (const path of choice.backend === 'inotify' ? directories : [])
      found.set(path, { choice, resolved: await this.#followSymlinks(path), mounted: new Set() })
    return found
  }

  lookNow(): ReturnType<WatchSystem['lookNow']> {
    return (path, followsLast) => {
      try {
        // Files are no roots in the simulation.
        const { kind } = this.tree.at(path, followsLast)
        return this.#options.source === 'inotify' && kind === 'directory' ? kind : undefined
      } catch {
        return 'missing'
      }
    }
  }

  served(): string[] {
    return []
  }

  async pseudoType(): Promise<undefined> {
    return undefined
  }

  isSymlink(path: string): Promise<boolean> {
    return this.#call(path, () => this.tree.at(path, false).kind === 'symlink')
  }

  async isMountPoint(): Promise<boolean> {
    return false
  }

  followTogether(paths: readonly string[]): ReturnType<WatchSystem['followTogether']> {
    const byTheLetter = (path: string) => ({ realPath: path, linkDirectories: [], links: [], left: [] })
    return Promise.all(paths.map((path) => this.#followSymlinks(path).catch(() => byTheLetter(path))))
  }

  #followSymlinks(path: string): Promise<Resolved> {
    const readLink = async (entry: string) => {
      try {
        const inode = this.tree.at(entry, false)
        return inode.kind === 'symlink' ? inode.target : undefined
      } catch {
        return undefined
      }
    }
    return this.#call(path, () => undefined).then(() => followUpToCircle(path, readLink))
  }

  watchMounts(): ReturnType<WatchSystem['watchMounts']> {
    return { open: async () => {}, settled: async () => {}, partial: () => [], close: () => {} }
  }

  openInotify(): InotifyInstance {
    const { queue, watches } = this.#options
    this.inotify = new SimulatedInotify(this.tree, new InotifyGroup(queue, watches))
    return this.inotify
  }

  kernelWatches(): Promise<Set<number> | undefined> {
    return this.#call('', () => this.inotify?.group.wds, false)
  }

  openFanotify(): never {
    throw new Error('in a simulated world nobody is told of')
  }

  openRelay(): never {
    throw new Error('no simulated world has a relay')
  }

  watches(asked: number): number {
    return asked
  }

  openWalker(): TreeWalker {
    const walker = new SimulatedWalker(this.tree, this.clock, this.#options.namesPerRead, this.failures)
    this.walkers.push(walker)
    return walker
  }

  /** @param mayFail the call opens something in the tree */
  #call<T>(path: string, call: () => T, mayFail = true): Promise<T> {
    return new Promise((resolve, reject) => {
      this.calls.push(() => {
        try {
          const failure = mayFail ? this.failures.next() : 0
          if (failure !== 0) throw new Refused(-failure, path)
          resolve(call())
        } catch (error) {
          const errno = error instanceof Refused ? error.errno : undefined
          reject(errno === undefined ? error : new InotifyError({ errno, syscall: 'stat', path }))
        }
      })
    })
  }
}
