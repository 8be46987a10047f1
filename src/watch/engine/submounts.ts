import { isWithin } from '../../mounts/mountinfo.ts'
import type { FollowedLinks, Place } from '../roots/links/followed_links.ts'
import { Directory } from '../tree/directory.ts'
import type { EngineContext } from './context.ts'

/**
 * Follows mounts that come and go below roots, and where links lead: the mount table tells of them, and no event does. And finds the files in the trees that are mounted by themselves
 * (single-file volumes, a container's /etc/hosts): no event of their directory tells of a write. {@link FollowedLinks} watches or polls such a file, as the end of a symlink.
 */
export class Submounts {
  /** True: a file is mounted over a name that no entry is known to have. The next event may be of that entry. */
  lacksSome = false
  readonly #context: EngineContext
  #points: readonly string[] | undefined
  #revision = -1
  // True: some lie in the trees.
  #hasSome = false

  constructor(context: EngineContext) {
    this.#context = context
  }

  /** Has what is at these mount points looked at, after something was mounted or unmounted there. */
  async onMounts(points: readonly string[]): Promise<void> {
    const { links } = this.#context
    for (const { parent, name } of this.#placesOf(points)) this.#lookAt(parent, name)
    this.#points = undefined
    this.#revision = -1
    // Another file may be mounted over the same name.
    await links.followMounted([])
    // Watched before it is looked at: a write between the two would be in neither.
    await this.review()
    links.onMounts(points)
  }

  #lookAt(parent: Directory, name: string): void {
    const { tree, pending, byPath } = this.#context
    const { work } = pending
    parent.mount.refused.take(parent, name)
    const entry = tree.entriesOf(parent).get(name)
    if (entry instanceof Directory) work.list(entry)
    // A file is mounted over the name, or is not any more. A file that is a root tells of itself.
    else if (entry !== undefined && !byPath.has(tree.pathOf(parent, name))) work.look(parent, name)
  }

  /** Follows the mounted files that are in the tree by now, and no others. Costs nothing while no directory has come or gone. */
  async review(): Promise<void> {
    const { tree, mountWatch, links } = this.#context
    if (!this.lacksSome && this.#revision === tree.revision) return
    // A rename above a mounted file moves its point, and the kernel does not tell. To read the table costs a mkdir a fifth, so it is read for known files alone.
    const points = this.#hasSome ? mountWatch.partial(true) : (this.#points ?? mountWatch.partial(false))
    this.#points = points
    if (points === undefined || points.length === 0) return
    this.#revision = tree.revision
    this.lacksSome = false
    const places = [...this.#find(points)]
    this.#hasSome = places.length > 0
    await links.followMounted(places)
  }

  /** Returns the places of these mount points in the trees of roots, and behind followed links. */
  *#placesOf(points: readonly string[]): Generator<Place> {
    const { forest, tree, links } = this.#context
    if (points.length === 0) return
    const bases = forest.standing().flatMap(({ isPresent, top: base, realPath }) => {
      return isPresent && base !== undefined ? [{ base, realPath }] : []
    })
    for (const { base, realPath } of [...bases, ...links.ends()])
      for (const point of points) {
        const names = point.slice(realPath.length).split('/').filter(Boolean)
        const name = isWithin(point, realPath) ? names.pop() : undefined
        const parent = name === undefined ? undefined : tree.find(base, names)
        if (name !== undefined && parent !== undefined) yield { parent, name }
      }
  }

  *#find(points: readonly string[]): Generator<Place> {
    const { tree, byPath } = this.#context
    for (const { parent, name } of this.#placesOf(points)) {
      // Polls look at all entries of a directory.
      if (parent.mount.usesPolling) continue
      const entry = tree.entriesOf(parent).get(name)
      // The file was made just now, and its event is on the way; or it is ignored.
      if (entry === undefined) this.lacksSome = true
      else if (entry.kind !== 'directory' && !byPath.has(tree.pathOf(parent, name))) yield { parent, name }
    }
  }
}
