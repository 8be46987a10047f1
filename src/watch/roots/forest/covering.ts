import { dirname, join, relative } from 'node:path'
import { isWithin } from '../../../mounts/mountinfo.ts'
import type { Kind } from '../../report/change.ts'
import { isPassing, MOST_LINKS } from '../../report/watch_error.ts'
import { Directory, linksAbove } from '../../tree/directory.ts'
import type { RootsContext } from '../context.ts'
import type { FileRoot } from '../file_root.ts'
import type { Root } from '../root.ts'

/**
 * The entry that a root's tree has at a path below the root: a listed directory; a 'file', which is an entry that is not gone into; or 'nothing' yet, and the root
 * will report what comes there. 'elsewhere': the tree does not and will not know where the path leads. 'link': the same, by a symlink that may be followed one day.
 */
export type Covering = Directory | 'file' | 'nothing' | 'elsewhere' | 'link'

const KINDS: readonly Kind[] = ['file', 'directory', 'symlink', 'other']

/** Returns true if a root reports nothing, now or later, of the end of a path. */
export function isElsewhere(covering: Covering): boolean {
  return covering === 'elsewhere' || covering === 'link'
}

/**
 * Returns true if another root has found that the reported directory of a root is not at its path any more.
 *
 * @param followsLinks true: the other root would report what is behind a symlink
 */
export function hasGone(root: Root, coverer: Root, covering: Covering, followsLinks: boolean): boolean {
  if (covering !== 'link') return covering === 'nothing' || covering === 'file'
  // The directory may have been found behind that very link. A link that would be followed, and is not, leads to no directory any more.
  const place = join(coverer.realPath, relative(coverer.path, root.path))
  // There is no symlink between the two, or one that leads into no circle.
  return place === root.realPath || (followsLinks && !isWithin(place, root.realPath))
}

/** Finds the root that reports a path. Reads the trees, and changes nothing. */
export class Coverings {
  readonly #context: RootsContext

  constructor(context: RootsContext) {
    this.#context = context
  }

  /** Returns the nearest root above a path that has a tree of its own. */
  covererOf(path: string): Root | undefined {
    if (!this.#context.rules.recursive) return undefined
    return this.#above(path, ({ coverer, file }) => coverer === undefined && file === undefined)
  }

  /** Returns true if another root ignores a path below it, or a directory on the way. */
  isHidden(path: string, { path: above }: Pick<Root, 'path'>): boolean {
    return this.#hidesAny(above, namesBelow(above, path))
  }

  isNested(path: string): boolean {
    return this.#above(path, () => true) !== undefined
  }

  below(root: Root): Root[] {
    const prefix = root.path === '/' ? '/' : `${root.path}/`
    return [...this.#context.byPath.values()].filter(({ path }) => path !== '/' && path.startsWith(prefix))
  }

  /** Returns the entry that a root has at the path of another. */
  of({ path }: Pick<Root, 'path'>, { path: above, top }: Root): Covering {
    const { tree, rules } = this.#context
    if (top === undefined) return 'nothing'
    let directory = top
    const names = namesBelow(above, path)
    for (const [i, name] of names.entries()) {
      const seen = whatIsSeenOf(directory)
      if (seen !== directory) return seen
      const entry = tree.entriesOf(directory).get(name)
      if (entry === undefined)
        return this.#hidesAny(tree.pathOf(directory), names.slice(i)) ? 'elsewhere' : 'nothing'
      if (!(entry instanceof Directory)) {
        const isLast = i === names.length - 1
        if (entry.kind === 'symlink' && (rules.followsRoots || !isLast))
          return linksAbove(directory) < MOST_LINKS ? 'link' : 'elsewhere'
        // A mount that is refused.
        if (entry.kind === 'directory') return 'elsewhere'
        return isLast ? 'file' : 'nothing'
      }
      directory = entry
    }
    return whatIsSeenOf(directory)
  }

  /** Returns the directory that a root has at the path of another and could not read, but tries to read again: only the other root has reported its entries so far. */
  unreadAt({ path }: Root, { path: above, top }: Root): Directory | undefined {
    const found = top && this.#context.tree.find(top, namesBelow(above, path))
    return found?.isListed === false && isPassing(found.mount.uncovered.get(found)) ? found : undefined
  }

  /** Returns the root that reports the path of another, and its entry there. undefined: the other has to be watched by itself. */
  whoCovers(root: Root): { coverer: Root; covering: Covering } | undefined {
    const coverer = this.covererOf(root.path)
    const covering = coverer && this.of(root, coverer)
    if (coverer === undefined || covering === undefined || isElsewhere(covering)) return undefined
    // A root that was a directory is not restored by a file; if a directory comes, the coverer reports that.
    return covering === 'file' && root.top === undefined ? undefined : { coverer, covering }
  }

  /** Returns the kind under which a file root reports that the file has come, or was written to. undefined: an outer root reports it. */
  kindTold(file: FileRoot, isComing: boolean): Kind | undefined {
    const { path, kind, isMountPoint } = file
    const { byPath, rules } = this.#context
    const coverer = rules.recursive ? this.covererOf(path) : byPath.get(dirname(path))
    if (coverer === undefined || !coverer.isPresent || coverer.file !== undefined) return kind
    // The outer root reports the symlink itself, and writes to the file at its end if it follows links.
    if (this.#isLinkIn(coverer, path)) return isComing || rules.followsLinks ? undefined : 'symlink'
    // Its events go to the directory that it lies in at its source; but a poll's stat(2) shows what is mounted.
    if (isMountPoint && kind !== 'symlink' && coverer.top?.mount.usesPolling !== true) return kind
    return isElsewhere(this.of(file, coverer)) ? kind : undefined
  }

  #isLinkIn({ path: above, top }: Root, path: string): boolean {
    const { tree, rules } = this.#context
    const names = namesBelow(above, path)
    const name = names.pop() as string
    const parent = rules.followsRoots && top && tree.find(top, names)
    return parent ? tree.entriesOf(parent).get(name)?.kind === 'symlink' : false
  }

  /** Returns true if a name on the way is ignored, of whatever kind its entry is. */
  #hidesAny(path: string, names: readonly string[]): boolean {
    const { rules } = this.#context
    if (!rules.hidesSome) return false
    let entry = path === '/' ? '' : path
    return names.some((name) => {
      entry += `/${name}`
      return KINDS.some((kind) => rules.hides(entry, kind))
    })
  }

  #above(path: string, isMeant: (root: Root) => boolean): Root | undefined {
    for (let each = path; each !== '/'; ) {
      each = dirname(each)
      const root = this.#context.byPath.get(each)
      if (root !== undefined && isMeant(root)) return root
    }
    return undefined
  }
}

function namesBelow(above: string, path: string): string[] {
  return path.slice(above === '/' ? 1 : above.length + 1).split('/')
}

/** Returns 'elsewhere' for a directory that nobody can report: it cannot be read, or has no watch and is not polled instead. One that may become readable by itself is tried again. */
function whatIsSeenOf(directory: Directory): Covering {
  const { mount, isListed } = directory
  const error = mount.uncovered.get(directory)
  const isTold = error === undefined || mount.leftover.has(directory) || isPassing(error)
  if (!isTold) return 'elsewhere'
  return isListed ? directory : 'nothing'
}
