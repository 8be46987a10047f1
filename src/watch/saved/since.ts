import { InotifyError } from '../../errors.ts'
import { isWithin } from '../../mounts/mountinfo.ts'
import { textOf } from '../../name_key.ts'
import type { Entry } from '../scan/entry.ts'
import type { Directory } from '../tree/directory.ts'
import type { SavedContext } from './context.ts'
import { likenessOf } from './filesystem.ts'
import { decodeSaved, type Saved, type SavedRoot, TornError } from './format.ts'
import { entryAsMeant, type Meaning, plant } from './plant.ts'

/** The saved state of a root that is to be compared. */
export interface Remembered {
  /** ms since the epoch: see {@link Saved.toldUntil}. */
  readonly toldUntil: number
  readonly root: SavedRoot
  /** The names that lead from `root` to it: none, unless it lay in the tree of another root. */
  readonly names: readonly string[]
  readonly meaning: Meaning
}

/** Returns the saved entry of a root that is a file; undefined: it was none. */
export function savedFile(saved: Remembered | undefined): Entry | undefined {
  return saved?.root.kind === 'file' ? entryAsMeant(saved.root.entry, saved.meaning) : undefined
}

const AS_NEW = 'all that is there is told as new; the next save() writes one that can be compared'

/**
 * The snapshot that `since` names, while the roots given to watch() are watched for the first time. A root that cannot be compared is reported as trouble,
 * and all that is there then as new.
 */
export class Since {
  readonly #context: SavedContext
  readonly #path: string
  #saved: Saved | undefined
  #bootId = ''
  /** True: the roots are being compared, and what differs from the snapshot is reported; so is, as new, every entry that was not saved. */
  isOpen = false
  #asked: readonly string[] = []

  constructor(context: SavedContext, path: string) {
    this.#context = context
    this.#path = path
  }

  /** Reads the snapshot. @param asked the roots that are compared */
  async open(asked: readonly string[]): Promise<void> {
    this.#asked = asked
    const { saving } = this.#context.system
    this.isOpen = true
    try {
      this.#saved = await decodeSaved(await saving.read(this.#path))
      this.#bootId = await saving.bootId()
    } catch (error) {
      this.#say(error)
    }
  }

  /** Drops the snapshot, as all roots have been compared. */
  close(): void {
    this.isOpen = false
    this.#saved = undefined
  }

  /** Tells if a directory was saved as a root with a tree of its own. */
  hadTree(path: string): boolean {
    return this.#saved?.roots.some((each) => each.path === path && each.kind === 'directory') === true
  }

  /** Drops what was saved of a root by itself. */
  forget(path: string): void {
    const saved = this.#saved
    if (saved !== undefined)
      this.#saved = { ...saved, roots: saved.roots.filter((each) => each.path !== path) }
  }

  /** Returns what was saved of a root, by itself or in the tree of another. undefined: nothing that can be compared. */
  async at(path: string): Promise<Remembered | undefined> {
    const saved = this.#saved
    if (saved === undefined) return undefined
    const root = saved.roots.find((each) => each.path === path) ?? this.#outerOf(path, saved.roots)
    if (root === undefined) {
      this.#refuseMissing(path)
      return undefined
    }
    const isSameBoot = saved.bootId !== '' && saved.bootId === this.#bootId
    const { toldUntil } = saved
    // A root that is not there any more counts as on its saved filesystem.
    const now =
      (await this.#context.system.saving.filesystemOf(path).catch(() => undefined)) ?? root.filesystem
    const likeness = root.kind === 'absent' ? 'same' : likenessOf(root.filesystem, now, isSameBoot)
    if (likeness !== 'another')
      return {
        toldUntil,
        root,
        names: path.slice(root.path.length).split('/').filter(Boolean),
        meaning: { isNumbered: likeness === 'same', isSameBoot },
      }
    const [was, is] = [root.filesystem, now].map(({ type, source }) => `${type} '${source}'`)
    this.#refuse('EXDEV', `'${textOf(path)}' is on another filesystem (${is}, was ${was}): ${AS_NEW}`)
    return undefined
  }

  /** Adds the saved entries to a root, which is empty in the tree. Resolves to false if it was not saved as a directory. */
  async plant(top: Directory, { root, meaning, names }: Remembered): Promise<boolean> {
    if (root.kind !== 'directory') return false
    const isFound = await plant(this.#context, top, root.directories, meaning, names)
    if (!isFound) this.#refuseMissing(this.#context.tree.pathOf(top))
    return isFound
  }

  /** Reports that a directory is a file by now, or the other way round. */
  refuseKind(path: string, { root: { kind } }: Remembered): void {
    this.#refuse('ENODATA', `'${textOf(path)}' was a ${kind} when it was saved: ${AS_NEW}`)
  }

  /** Returns the nearest saved root above a path. undefined: there is none, or another root is compared that lies above the path and reports it. */
  #outerOf(path: string, roots: readonly SavedRoot[]): SavedRoot | undefined {
    if (this.#asked.some((each) => each !== path && isWithin(path, each))) return undefined
    const above = roots.filter((each) => each.kind === 'directory' && isWithin(path, each.path))
    return above.sort((a, b) => b.path.length - a.path.length)[0]
  }

  #refuseMissing(path: string): void {
    this.#refuse('ENODATA', `it was saved without the root '${textOf(path)}': ${AS_NEW}`)
  }

  #say(error: unknown): void {
    if (error instanceof TornError) this.#refuse('EBADMSG', `${error.message}: ${AS_NEW}`)
    else if (error instanceof Error && 'errno' in error && typeof error.errno === 'number')
      this.#refuse(-error.errno, AS_NEW)
    else this.#context.reporter.trouble(error)
  }

  #refuse(errno: 'EBADMSG' | 'ENODATA' | 'EXDEV' | number, hint: string): void {
    this.#context.reporter.trouble(
      new InotifyError({ errno, syscall: 'since', path: textOf(this.#path), hint }),
    )
  }
}
