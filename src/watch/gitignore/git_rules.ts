import { basename } from 'node:path'
import { CoalescedTask } from '../../coalesced_task.ts'
import { textOf } from '../../name_key.ts'
import { allOf, type Ignores } from '../ignores.ts'
import { type Change, type Kind, pathsOf } from '../report/change.ts'
import { globalRuleFile } from './git_files.ts'
import { GitIgnore, RULE_FILE, ruleFilesAbove } from './git_ignore.ts'

/** A watcher of the files that lie elsewhere. */
interface FileWatcher {
  on(event: 'changes', listener: (changes: Change[]) => void): unknown
  add(path: string): Promise<void>
  remove(path: string): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

/** Keeps a watcher's {@link GitIgnore} up to date: by the watcher's own changes, and by a second watcher, of the files that lie elsewhere. */
export class GitRules {
  readonly #elsewhere: FileWatcher
  readonly #renewal: CoalescedTask
  readonly #globalFile = globalRuleFile()
  #current = new GitIgnore(this.#globalFile)
  #watched: Promise<void> = Promise.resolve()

  /**
   * @param elsewhere has no roots yet
   * @param apply has the tree looked through by {@link with}
   */
  constructor(elsewhere: FileWatcher, apply: () => Promise<void>) {
    this.#elsewhere = elsewhere
    this.#renewal = new CoalescedTask(async () => {
      this.#current = new GitIgnore(this.#globalFile)
      await apply()
    })
    elsewhere.on('changes', (changes) => {
      if (changes.some(({ path }) => this.#current.isOutdatedBy(textOf(path), 'file'))) this.#renew()
    })
  }

  /** Watches the files with rules for what is in these roots that lie outside of them. Nobody waits for that but {@link settled}: what has changed since they were read is seen behind it. */
  watchAbove(roots: readonly string[]): void {
    const watched = this.#watchFiles(this.#filesFor(roots))
    this.#watched = this.#watched.then(() => watched)
  }

  async #watchFiles(files: ReadonlySet<string>): Promise<void> {
    // A file that cannot be watched cannot be read either, and has no rules.
    await Promise.all([...files].map((file) => this.#elsewhere.add(file).catch(() => {})))
    if ([...files].some((file) => this.#current.isOutdatedBy(file, 'file'))) this.#renew()
  }

  /** Ends that for a root, but for files that others of these roots need. */
  async leave(root: string, others: Iterable<string>): Promise<void> {
    this.#current.forget(root)
    const needed = this.#filesFor([...others])
    const left = [...this.#filesFor([root])].filter((file) => !needed.has(file))
    await Promise.all(left.map((file) => this.#elsewhere.remove(file)))
  }

  /** Returns the rules as they were read last, and others, by which no file with rules is ignored: nobody would hear of a change of it. */
  with(others: Ignores | undefined): Ignores | undefined {
    const rest = others && {
      isByRoot: others.isByRoot,
      has: (path: string, relative: string, kind: Kind) =>
        basename(path) !== RULE_FILE && others.has(path, relative, kind),
    }
    return allOf(rest, this.#current)
  }

  /** Reads the rules anew if one of the changes may be of a rule. */
  note(changes: readonly Change[]): void {
    const isOutdated = changes.some((change) => {
      if (!('kind' in change)) return false
      const { kind } = change
      const concerns = (each: string) => kind === 'directory' || basename(each) === RULE_FILE
      return pathsOf(change).some((each) => concerns(each) && this.#current.isOutdatedBy(textOf(each), kind))
    })
    if (isOutdated) this.#renew()
  }

  /** Resolves when the tree has been looked through by the rules as they were at the call, if the watcher has told of them. */
  async settled(): Promise<void> {
    await this.#watched
    await this.#elsewhere.sync()
    await this.#renewal.idle()
  }

  async close(): Promise<void> {
    await this.#elsewhere.close()
  }

  #filesFor(roots: readonly string[]): Set<string> {
    return new Set([this.#globalFile, ...roots.flatMap(ruleFilesAbove)])
  }

  /** The renewal fails if the watcher is closed meanwhile. */
  #renew(): void {
    this.#renewal.run().catch(() => {})
  }
}
