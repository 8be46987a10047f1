import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import type { Mirror } from '../../src/index.ts'
import type { Choice } from '../mirror/model/random.mjs'
import { library } from './observers.ts'

/** A look that comes into a change is made again. */
const LOOKS = 20
const OPTIONS = { interval: 100, quiet: 10 }

/** A source that changes, and a mirror of it that comes and goes. Names are latin1: some are no UTF-8. */
export class Mirrored {
  readonly name: string
  readonly #source: string
  readonly #target: string
  readonly #failures: Map<string, number>
  #mirror: Mirror | undefined
  #count = 0
  updates = 0

  constructor(base: string, name: 'keys' | 'flat', failures: Map<string, number>) {
    this.name = `mirror of ${name}`
    this.#source = join(base, `${name}-source`)
    this.#target = join(base, `${name}-target`)
    this.#failures = failures
    mkdirSync(this.#source)
  }

  async start(): Promise<void> {
    this.#mirror = await library.mirror(this.#source, this.#target, OPTIONS)
    this.#mirror.on('update', () => void this.updates++)
    this.#mirror.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : String(error)
      this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1)
    })
  }

  async close(keep = false): Promise<void> {
    await this.#mirror?.close({ keep })
    this.#mirror = undefined
  }

  /** Ends it, and begins again where it left the target. */
  async restart(choice: Choice): Promise<void> {
    await this.close(choice.isLikely(60))
    await this.start()
  }

  /** Makes some of the changes that the owner of such a source makes. */
  async change(choice: Choice): Promise<void> {
    if (this.name.endsWith('keys')) await this.#swap(choice)
    else for (let n = choice.below(10); n >= 0; n--) this.#changeEntry(choice)
  }

  /** Puts another directory in the source's place. The mirror must not take the old one for the new one. */
  async replace(choice: Choice): Promise<void> {
    const aside = `${this.#source}.old`
    renameSync(this.#source, aside)
    mkdirSync(this.#source)
    await this.change(choice)
    rmSync(aside, { recursive: true })
  }

  /** Compares the target with the source once nothing changes any more. Returns a line for each difference. */
  async audit(): Promise<string[]> {
    let wrong: string[] = []
    for (let look = 0; look < LOOKS; look++) {
      await this.#mirror?.refresh()
      wrong = this.#compare()
      if (wrong.length === 0) return []
      await sleep(OPTIONS.interval)
    }
    return wrong.map((what) => `${this.name}: ${what}`)
  }

  async #swap(choice: Choice): Promise<void> {
    const keys = ['a', 'b', 'nested/c', 'nested/d', 'é'].filter(() => choice.isLikely(60))
    const text = (key: string) => `${key} ${++this.#count}`.padEnd(choice.below(2000))
    await atomicWrite(this.#source, Object.fromEntries(keys.map((key) => [key, text(key)])))
  }

  #changeEntry(choice: Choice): void {
    const path = (name: string) => Buffer.from(`${this.#source}/${name}`, 'latin1')
    const name = choice.of(['a', 'b\xff', 'b\xfe', 'd\xc3/a', 'd\xc3/\xff', 'e/f/g'])
    const parts = name.split('/').slice(0, -1)
    parts.forEach((_, index) => {
      mkdirSync(path(parts.slice(0, index + 1).join('/')), { recursive: true })
    })
    const content = `${++this.#count}`.padEnd(1 + choice.below(3000))
    const draft = path('draft')
    const what = choice.below(6)
    if (what === 0) rmSync(path(name), { recursive: true, force: true })
    else if (what === 1) {
      symlinkSync(Buffer.from('b\xfe', 'latin1'), draft)
      renameSync(draft, path(name))
    } else if (what === 2 && parts[0] !== undefined) rmSync(path(parts[0]), { recursive: true })
    else if (what === 3) {
      writeFileSync(draft, content)
      linkSync(draft, path('other'))
      renameSync(draft, path(name))
      rmSync(path('other'))
    } else {
      writeFileSync(draft, content)
      renameSync(draft, path(name))
    }
  }

  #compare(): string[] {
    const [source, target] = [this.#source, this.#target].map((path) => contentsOf(path))
    const names = new Set([...(source?.keys() ?? []), ...(target?.keys() ?? [])])
    const wrong = [...names].filter((name) => source?.get(name) !== target?.get(name))
    const { state, skipped } = this.#mirror ?? {}
    return [
      ...wrong.map((name) => `${name} is ${target?.get(name)}, and in the source ${source?.get(name)}`),
      ...(state === 'mirroring' ? [] : [`the state is ${state}`]),
      ...(skipped ?? []).map(({ path, reason }) => `${path} is skipped: ${reason}`),
    ].slice(0, 5)
  }
}

/**
 * Returns the content of each file and the text of each link, by path. Of the AtomicWriter's names, only
 * those behind `..data` count.
 */
function contentsOf(top: string): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (directory: string) => {
    for (const bytes of readdirSync(Buffer.from(top + directory, 'latin1'), 'buffer')) {
      const name = bytes.toString('latin1')
      if (name.startsWith('.inotify-bridge-') || (directory === '' && name.startsWith('..'))) continue
      const [at, path] = [`${directory}/${name}`, Buffer.from(`${top}${directory}/${name}`, 'latin1')]
      const stats = lstatSync(path)
      if (stats.isSymbolicLink()) found.set(at, `-> ${readlinkSync(path, 'buffer').toString('latin1')}`)
      else if (stats.isDirectory()) visit(at)
      else found.set(at, readFileSync(path, 'latin1').trim())
      if (stats.isDirectory()) found.set(at, 'a directory')
      else if (stats.isSymbolicLink() && found.get(at)?.startsWith('-> ..data/')) visitKey(at, path)
    }
  }
  const visitKey = (at: string, path: Buffer) => {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats?.isDirectory()) visit(at)
    else
      found.set(at, stats === undefined ? 'a key that leads to nothing' : readFileSync(path, 'latin1').trim())
  }
  visit('')
  return found
}
