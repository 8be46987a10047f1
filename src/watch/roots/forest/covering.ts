import { dirname, join, relative } from 'node:path'
import { isWithin } from '../../../mounts/mountinfo.ts'
import type { Kind } from '../../report/change.ts'
import { isPassing, MOST_LINKS } from '../../report/watch_error.ts'
import type { Rules } from '../../rules.ts'
import { Directory, linksAbove } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'
import type { RootsContext } from '../context.ts'
import type { FileRoot } from '../file_root.ts'
import type { Root } from '../root.ts'

/**
 * What a root's tree has at a path below it: a directory that is listed, a 'file' (what is none, and leads to none, or is not followed to one), or 'nothing' yet: what comes
 * there the root will tell. 'elsewhere': the tree knows nothing of what the path leads to, and will not; a 'link' that is not followed, but may be, leads there.
 */
export type Covering = Directory | 'file' | 'nothing' | 'elsewhere' | 'link'

const KINDS: readonly Kind[] = ['file', 'directory', 'symlink', 'other']

/** Whether a root does not tell, now or later, of what a path leads to. */
export function isElsewhere(covering: Covering): boolean {
  return covering === 'elsewhere' || covering === 'link'
}

/**
 * Whether what a root has told of itself is not at its path any more, as another root has found it there.
 *
 * @param followsLinks whether the other root would tell of what is behind a symlink
 */
export function hasGone(root: Root, coverer: Root, covering: Covering, followsLinks: boolean): boolean {
  if (covering !== 'link') return covering === 'nothing' || covering === 'file'
  // When it was found, it may have been behind that very link. One that is followed, and is none to a directory, leads to none any more.
  const place = join(coverer.realPath, relative(coverer.path, root.path))
  // No symlink is between the two, or one that leads into no circle.
  return place === root.realPath || (followsLinks && !isWithin(place, root.realPath))
}

/** Which root tells of a path. It reads what the trees believe, and changes nothing. */
export class Coverings {
  readonly #context: RootsContext

  constructor(context: RootsContext) {
    this.#context = context
  }

  /** The root whose tree a path below it belongs to, if it is in one: the nearest that has a tree. */
  covererOf(path: string): Root | undefined {
    if (!this.#context.rules.recursive) return undefined
    return this.#above(path, ({ coverer, file }) => coverer === undefined && file === undefined)
  }

  /** Tells if another root ignores a path below it, or a directory on the way. */
  isHidden(path: string, { path: above }: Pick<Root, 'path'>): boolean {
    return hidesAny(this.#context.rules, above, namesBelow(above, path))
  }

  isNested(path: string): boolean {
    return this.#above(path, () => true) !== undefined
  }

  below(root: Root): Root[] {
    const prefix = root.path === '/' ? '/' : `${root.path}/`
    return [...this.#context.byPath.values()].filter(({ path }) => path !== '/' && path.startsWith(prefix))
  }

  /** What a root has at the path of another. What was there is lost with it, and what comes is found with it. */
  of({ path }: Root, coverer: Root): Covering {
    return this.#at(path, coverer)
  }

  /** The directory that a root has at the path of another and could not read, which is tried again: nobody has told yet what is in it, but for the other. */
  unreadAt({ path }: Root, { path: above, top }: Root): Directory | undefined {
    const found = top && this.#context.tree.find(top, namesBelow(above, path))
    return found?.isListed === false && isPassing(found.mount.uncovered.get(found)) ? found : undefined
  }

  /** The root that tells of what is at the path of another, and what it has there. undefined: the other is to be watched by itself. */
  whoCovers(root: Root): { coverer: Root; covering: Covering } | undefined {
    const coverer = this.covererOf(root.path)
    const covering = coverer && this.of(root, coverer)
    if (coverer === undefined || covering === undefined || isElsewhere(covering)) return undefined
    // What was a directory is not restored by a file; and should it be one again, the other tells.
    return covering === 'file' && root.top === undefined ? undefined : { coverer, covering }
  }

  /** Returns the kind under which a file root reports that the file has come, or was written to. undefined: an outer root reports it. */
  kindTold({ path, kind, isMountPoint }: FileRoot, isComing: boolean): Kind | undefined {
    const { byPath, rules } = this.#context
    const coverer = rules.recursive ? this.covererOf(path) : byPath.get(dirname(path))
    if (coverer === undefined || !coverer.isPresent || coverer.file !== undefined) return kind
    // The outer root reports the symlink itself, and writes to the file at its end if it follows links.
    if (this.#isLinkIn(coverer, path)) return isComing || rules.followsLinks ? undefined : 'symlink'
    // Its events go to the directory that it lies in at its source; but a poll's stat(2) shows what is mounted.
    if (isMountPoint && kind !== 'symlink' && coverer.top?.mount.usesPolling !== true) return kind
    return isElsewhere(this.#at(path, coverer)) ? kind : undefined
  }

  #isLinkIn({ path: above, top }: Root, path: string): boolean {
    const { tree, rules } = this.#context
    const names = namesBelow(above, path)
    const name = names.pop() as string
    const parent = rules.followsRoots && top && tree.find(top, names)
    return parent ? tree.entriesOf(parent).get(name)?.kind === 'symlink' : false
  }

  #at(path: string, { path: above, top }: Root): Covering {
    if (top === undefined) return 'nothing'
    return coveringAt(this.#context.tree, this.#context.rules, top, namesBelow(above, path))
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

/** @param names of the path, from the root's on */
function coveringAt(
  tree: Tree,
  rules: Pick<Rules, 'hides' | 'hidesSome' | 'followsRoots'>,
  top: Directory,
  names: readonly string[],
): Covering {
  let directory = top
  for (const [i, name] of names.entries()) {
    const seen = whatIsSeenOf(directory)
    if (seen !== directory) return seen
    const entry = tree.entriesOf(directory).get(name)
    if (entry === undefined) {
      const path = tree.pathOf(directory)
      return hidesAny(rules, path, names.slice(i)) ? 'elsewhere' : 'nothing'
    }
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

/** Of a directory that cannot be read, or has no watch and is not polled for want of one, nobody tells; but one that could not be read now is tried again. */
function whatIsSeenOf(directory: Directory): Covering {
  const { mount, isListed } = directory
  const error = mount.uncovered.get(directory)
  const isTold = error === undefined || mount.leftover.has(directory) || isPassing(error)
  if (!isTold) return 'elsewhere'
  return isListed ? directory : 'nothing'
}

/** Whether something on the way, of whatever kind, is ignored. */
function hidesAny(
  rules: Pick<Rules, 'hides' | 'hidesSome'>,
  path: string,
  names: readonly string[],
): boolean {
  if (!rules.hidesSome) return false
  let entry = path === '/' ? '' : path
  return names.some((name) => {
    entry += `/${name}`
    return KINDS.some((kind) => rules.hides(entry, kind))
  })
}
