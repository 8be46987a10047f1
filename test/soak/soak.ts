import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { Choice } from '../mirror/model/random.mjs'
import { rounds } from '../watch/model/world/operations.ts'
import { type Snapshot, snapshot, snapshotOfFiles, type Written } from '../watch/model/world/snapshot.ts'
import { Writers } from '../watch/model/world/writers.ts'
import { DISTURBANCES, isMounted, MOUNTED, type Scene, TREE } from './disturbances.ts'
import { FileRoots } from './file_roots.ts'
import { FollowedLinks } from './followed_links.ts'
import { Mirrored } from './mirrored.ts'
import { here, inWorker } from './observers.ts'
import { Shell } from './shell.ts'
import { type Subject, Watched } from './watched.ts'

/** The watchers that --only may name. */
export const WATCHERS = ['events', 'polls', 'links', 'files', 'settle', 'ignore'] as const

const WRITERS = 2
const OPERATIONS = 150
// A name of files and directories that the writers use as well.
const IGNORED = /(^|\/)-rf$/
/** The number of repetitions that makes the queue overflow. */
const STORM = 80

/** The writers, the watchers and mirrors that follow them, and the disturbances. */
export class Soak {
  readonly failures = new Map<string, number>()
  readonly done = new Map<string, number>()
  operations = 0
  /** The step that is awaited now, for the report of a stuck run. */
  doing = ''
  readonly #scene: Scene
  readonly #outside: string
  readonly #files: FileRoots
  readonly #links: FollowedLinks
  readonly #lasting: Watched[]
  readonly #mirrors: Mirrored[]
  readonly #hasWorkers: boolean
  #worker: Watched | undefined
  #told = 0
  // Files by inode number; see Writers.
  readonly #linked = new Set<bigint>()
  readonly #wrote = new Map<bigint, number>()

  private constructor(base: string, seed: number, isApart: boolean, only: readonly string[] | undefined) {
    process.chdir(base)
    const tree = join(base, TREE)
    this.#outside = join(base, 'outside')
    this.#scene = { tree, aside: join(base, 'aside'), shell: new Shell(), choice: new Choice(seed), isApart }
    for (const path of [tree, this.#scene.aside, this.#outside]) mkdirSync(path)
    this.#files = new FileRoots(tree)
    this.#links = new FollowedLinks(base)
    const subjects = this.#subjects().filter(({ name }) => only?.includes(name) ?? true)
    this.#lasting = subjects.map((subject) => new Watched(subject, this.failures))
    const mirrored = only === undefined ? (['keys', 'flat'] as const) : []
    this.#mirrors = mirrored.map((name) => new Mirrored(base, name, this.failures))
    this.#hasWorkers = only === undefined
  }

  /** @param only these watchers, and neither mirrors nor workers */
  static async begin(base: string, seed: number, isApart: boolean, only?: readonly string[]): Promise<Soak> {
    const soak = new Soak(base, seed, isApart, only)
    await soak.#scene.shell.run(`cd ${TREE}`)
    for (const each of soak.#lasting) await each.ready()
    for (const each of soak.#mirrors) await each.start()
    return soak
  }

  get told(): number {
    return this.#lasting.reduce((sum, { told }) => sum + told, this.#told + (this.#worker?.told ?? 0))
  }

  get updates(): number {
    return this.#mirrors.reduce((sum, { updates }) => sum + updates, 0)
  }

  /** Lets the writers write for a moment, with a disturbance meanwhile. */
  async play(): Promise<void> {
    const { choice } = this.#scene
    const name = choice.of(Object.keys(DISTURBANCES))
    this.done.set(name, (this.done.get(name) ?? 0) + 1)
    this.doing = `${name}: coming and going`
    await this.#comeOrGo()
    this.doing = `${name}: writing`
    // Each round starts writers in the present root.
    await using writers = new Writers(WRITERS, this.#scene.tree, this.#outside)
    await writers.run(Array(WRITERS).fill([]))
    const writing = this.#write(writers, name === 'stopped' && choice.isLikely(50) ? STORM : 1)
    const undo = await DISTURBANCES[name]?.(this.#scene)
    // Changing the sources needs descriptors, and would stop half way without them.
    if (name !== 'few descriptors') {
      this.#files.change(choice)
      this.#links.change(choice)
      this.doing = `${name}: changing sources`
      await this.#changeSources()
    }
    this.doing = `${name}: awaiting the writers`
    await writing
    await undo?.()
    rmSync(this.#scene.aside, { recursive: true, force: true })
    mkdirSync(this.#scene.aside)
  }

  /** Compares everything while no process writes. Returns a line for each difference. */
  async audit(): Promise<string[]> {
    const wrong: string[] = []
    const [mounted, written]: Written[] = [{}, { linked: this.#linked, at: this.#wrote }]
    const point = join(this.#scene.tree, MOUNTED)
    const hasMount = isMounted(this.#scene)
    const isOf = (path: string, top: string) => path === top || path.startsWith(`${top}/`)
    const others = [this.#links.path, ...(hasMount ? [point] : [])]
    const of = (path: string) => (others.some((top) => isOf(path, top)) ? mounted : written) ?? {}
    for (const each of [...this.#lasting, ...(this.#worker ? [this.#worker] : [])]) {
      this.doing = `auditing ${each.name}`
      wrong.push(...(await each.audit(of)))
    }
    for (const each of this.#mirrors) {
      this.doing = `auditing ${each.name}`
      wrong.push(...(await each.audit()))
    }
    this.#forget(snapshot(this.#scene.tree))
    return wrong
  }

  async end(): Promise<void> {
    for (const each of [...this.#lasting, ...(this.#worker ? [this.#worker] : [])]) await each.close()
    for (const each of this.#mirrors) await each.close()
    if (isMounted(this.#scene)) await this.#scene.shell.run('umount -l m')
    await this.#scene.shell.end()
  }

  #subjects(): Array<Subject & { name: (typeof WATCHERS)[number] }> {
    const { tree } = this.#scene
    const all = { roots: [tree], options: { recursive: true }, observe: here, look: () => snapshot(tree) }
    const files = this.#files.paths
    return [
      { ...all, name: 'events' },
      { ...all, name: 'polls', options: { recursive: true, backend: 'poll', interval: 200 } },
      {
        ...all,
        name: 'links',
        options: { recursive: true, followSymlinks: true },
        roots: [this.#links.path],
        look: () => snapshot(this.#links.path, { followSymlinks: true }),
      },
      { ...all, name: 'files', roots: files, options: {}, look: () => snapshotOfFiles(files) },
      { ...all, name: 'settle', options: { recursive: true, settle: 20 } },
      {
        ...all,
        name: 'ignore',
        options: { recursive: true, ignore: [IGNORED] },
        look: () => snapshot(tree, { ignores: (path) => IGNORED.test(path) }),
      },
    ]
  }

  /** Opens or closes a worker's watcher, and now and then restarts a mirror. */
  async #comeOrGo(): Promise<void> {
    const { choice, tree } = this.#scene
    if (this.#mirrors.length > 0 && choice.isLikely(20)) await choice.of(this.#mirrors).restart(choice)
    if (!this.#hasWorkers || choice.isLikely(70)) return
    if (this.#worker !== undefined) {
      await this.#worker.close()
      this.#told += this.#worker.told
      this.#worker = undefined
      return
    }
    const subject = { name: 'worker', roots: [tree], options: { recursive: true }, observe: inWorker }
    this.#worker = new Watched({ ...subject, look: () => snapshot(tree) }, this.failures)
    await this.#worker.ready()
  }

  async #changeSources(): Promise<void> {
    const { choice } = this.#scene
    for (const each of this.#mirrors)
      if (choice.isLikely(10)) await each.replace(choice)
      else await each.change(choice)
  }

  async #write(writers: Writers, times: number): Promise<void> {
    const { choice } = this.#scene
    const arbitrary = rounds(1, WRITERS, OPERATIONS)
    const [[scripts] = []] = fc.sample(arbitrary, { seed: choice.below(2 ** 31), numRuns: 1 })
    const repeated = (scripts ?? []).map((script) => Array(times).fill(script).flat())
    this.operations += await writers.run(repeated)
    for (const ino of writers.linked) this.#linked.add(ino)
    for (const [ino, at] of writers.wrote) this.#wrote.set(ino, Math.max(at, this.#wrote.get(ino) ?? 0))
  }

  /** Forgets deleted files: else this knowledge would grow. */
  #forget(real: Snapshot): void {
    const inodes = new Set([...real.values()].map(({ ino }) => ino))
    for (const ino of this.#linked) if (!inodes.has(ino)) this.#linked.delete(ino)
    for (const ino of this.#wrote.keys()) if (!inodes.has(ino)) this.#wrote.delete(ino)
  }
}
