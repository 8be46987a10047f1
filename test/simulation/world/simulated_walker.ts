import { DIRECTORY_MASK } from '../../../src/watch/events/watch_mask.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { closedError } from '../../../src/watch/report/watch_error.ts'
import { AheadWalks } from '../../../src/watch/scan/ahead_walks.ts'
import { type Listing, listingsIn } from '../../../src/watch/scan/listing.ts'
import type { Patience } from '../../../src/watch/scan/patience.ts'
import { RequestEncoder, type WalkRequest } from '../../../src/watch/scan/walk_request.ts'
import type { TreeWalker } from '../../../src/watch/system.ts'
import { type RecordSpec, recordsOf } from '../../watch/scan/records.ts'
import type { FileTree } from '../kernel/file_tree.ts'
import { DirReader } from './dir_reader.ts'
import type { OpenFailures } from './failing_opens.ts'
import { KnownDigests } from './known_digests.ts'
import type { SimulatedClock } from './simulated_clock.ts'
import type { SimulatedInotify } from './simulated_inotify.ts'
import { Walk } from './walk.ts'

interface Job {
  requests: readonly WalkRequest[]
  inotify: InotifyInstance | undefined
  take: (listing: Listing) => void
  resolve: () => void
  reject: (error: unknown) => void
  failure?: { error: unknown }
  // For walks that are repeated: ms to the next walk; 0: no repetition.
  rest: number
  most: number
}

/**
 * A walker whose thread steps, and whose records are handed over, when the schedule says so. See
 * {@link TreeWalker} and native/walker.
 */
export class SimulatedWalker implements TreeWalker {
  readonly #tree: FileTree
  readonly #clock: SimulatedClock
  readonly #reader: DirReader
  readonly #digests = new KnownDigests()
  #job: Job | undefined
  #walk: Walk | undefined
  #steps: Generator<string, void> | undefined
  #records: RecordSpec[] = []
  #hasTold = false
  #isOver = false
  #isClosed = false
  #stopResting: (() => void) | undefined
  readonly #ahead = new AheadWalks(() => this.cancel())

  constructor(tree: FileTree, clock: SimulatedClock, namesPerRead: number, failures: OpenFailures) {
    this.#tree = tree
    this.#clock = clock
    this.#reader = new DirReader(tree, namesPerRead, failures)
  }

  async walk(
    requests: readonly WalkRequest[],
    take: (listing: Listing) => void,
    inotify?: InotifyInstance,
  ): Promise<void> {
    if (requests.length === 0) return
    if (!this.#ahead.isNone && (await this.#ahead.tell(packed(requests), take))) return
    await this.#start({ requests, take, inotify, rest: 0, most: 0 })
  }

  /** @param patience a tenth of its rest is the number of steps: see {@link Patience} */
  walkAhead(
    requests: readonly WalkRequest[],
    inotify: InotifyInstance,
    patience: Patience,
  ): readonly Listing[] | undefined {
    const start = (take: (listing: Listing) => void) =>
      this.#start({ requests, take, inotify, rest: 0, most: 0 })
    const wait = () => {
      for (let i = 0; i < patience.rest() / 10 && this.canStep; i++) this.step()
      if (this.canHandOver) this.handOver()
      return this.#job === undefined
    }
    return this.#ahead.begin(packed(requests), start, wait)
  }

  forgetAhead(): Promise<number[]> {
    return this.#ahead.forget()
  }

  async pollIdle(requests: readonly WalkRequest[], first: number, most: number): Promise<Listing[]> {
    const found: Listing[] = []
    const take = (listing: Listing) => void found.push(listing)
    await this.#start({ requests, take, inotify: undefined, rest: first, most })
    return found
  }

  cancel(): void {
    if (this.#walk !== undefined) this.#walk.isCancelled = true
    this.#stopResting?.()
  }

  /** Returns 0: the schedule's time is not the walker's. */
  get took(): number {
    return 0
  }

  commit(): void {
    this.#digests.commit()
  }

  forget(): void {
    this.#digests.forget()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.cancel()
    this.#job?.reject(closedError())
  }

  /** Returns if the thread can go on. */
  get canStep(): boolean {
    return this.#steps !== undefined && !this.#reader.awaits?.isLocked
  }

  /** Makes one step, and returns its description. */
  step(): string {
    const next = this.#steps?.next()
    if (next?.done === false) return next.value
    this.#steps = undefined
    this.#reader.forgetParent()
    const job = this.#job
    const isLast = job === undefined || job.most === 0 || this.#hasTold || this.#walk?.isCancelled
    if (isLast) this.#isOver = true
    else this.#restFrom(job)
    return 'is through'
  }

  /** Returns if there are records or an end to hand over. */
  get canHandOver(): boolean {
    return this.#records.length > 0 || this.#isOver
  }

  handOver(): string {
    const records = this.#records.splice(0)
    const isOver = this.#isOver
    const job = this.#job
    if (job === undefined) return 'hands over nothing'
    try {
      if (job.failure === undefined && !this.#isClosed)
        for (const listing of listingsIn(recordsOf(records))) job.take(listing)
    } catch (error) {
      job.failure = { error }
      this.cancel()
    }
    if (isOver) this.#end(job)
    return `hands over ${records.length} listings${isOver ? ', all' : ''}`
  }

  #start(options: Omit<Job, 'resolve' | 'reject'>): Promise<void> {
    if (this.#isClosed) return Promise.reject(closedError())
    if (this.#job !== undefined) return Promise.reject(new Error('EBUSY: one walk at a time'))
    return new Promise((resolve, reject) => {
      this.#job = { ...options, resolve, reject }
      this.#beginPass(this.#job)
    })
  }

  #beginPass({ requests, inotify }: Job): void {
    this.#digests.begin()
    this.#hasTold = this.#isOver = false
    this.#walk = new Walk({
      tree: this.#tree,
      reader: this.#reader,
      digests: this.#digests,
      requests,
      watching: inotify && { group: (inotify as SimulatedInotify).group, mask: DIRECTORY_MASK },
      tell: (record) => {
        this.#hasTold = true
        this.#records.push(record)
      },
    })
    this.#steps = this.#walk.run()
  }

  // Begins another pass after `rest` ms, until a pass finds a change.
  #restFrom(job: Job): void {
    const again = () => {
      this.#stopResting = undefined
      this.#beginPass(job)
    }
    const cancelTimer = this.#clock.after(job.rest, again)
    job.rest = Math.min(2 * job.rest, job.most)
    this.#digests.begin()
    this.#stopResting = () => {
      cancelTimer()
      this.#stopResting = undefined
      this.#isOver = true
    }
  }

  #end({ failure, resolve, reject }: Job): void {
    this.#job = undefined
    this.#walk = undefined
    this.#isOver = false
    if (failure === undefined) resolve()
    else reject(failure.error)
  }
}

const encoder = new RequestEncoder()

function packed(requests: readonly WalkRequest[]): Buffer {
  return Buffer.from(encoder.encode(requests))
}
