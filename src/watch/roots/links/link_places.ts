import type { Directory } from '../../tree/directory.ts'
import type { MovedLink } from '../../tree/tree.ts'
import { FollowedLink } from './followed_link.ts'

/** Where followed links are: one at a name. */
export class LinkPlaces implements Iterable<FollowedLink> {
  readonly #links = new Map<Directory, Map<string, FollowedLink>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  *[Symbol.iterator](): Generator<FollowedLink> {
    for (const links of this.#links.values()) yield* links.values()
  }

  /** The one at a name; one that nobody has looked at yet, if there was none. */
  at(parent: Directory, name: string): FollowedLink {
    return this.#find(parent, name) ?? this.#put(new FollowedLink(parent, name))
  }

  has(link: FollowedLink): boolean {
    return this.#find(link.parent, link.name) === link
  }

  /** Whether it was there. */
  remove(link: FollowedLink): boolean {
    const { parent, name } = link
    const links = this.#links.get(parent)
    if (links?.get(name) !== link) return false
    links.delete(name)
    if (links.size === 0) this.#links.delete(parent)
    this.#size--
    return true
  }

  /**
   * What moves at the same time, as an exchange does.
   *
   * @returns those that are gone, or whose place others have taken, and the places that somebody has taken at whom nobody has looked
   */
  move(moved: readonly MovedLink[]): { displaced: FollowedLink[]; unknown: Array<MovedLink['from']> } {
    const taken = moved.map(({ from, to }) => ({ link: this.#take(from), to }))
    const displaced = taken
      .map(({ link, to }) => (to === undefined ? link : this.#take(to)))
      .filter((link) => link !== undefined)
    const unknown: Array<MovedLink['from']> = []
    for (const { link, to } of taken) {
      if (to === undefined) continue
      if (link?.target === undefined) unknown.push(to)
      if (link === undefined) continue
      link.parent = to.directory
      link.name = to.name
      this.#put(link)
    }
    return { displaced, unknown }
  }

  #find(parent: Directory, name: string): FollowedLink | undefined {
    return this.#links.get(parent)?.get(name)
  }

  #take({ directory, name }: MovedLink['from']): FollowedLink | undefined {
    const link = this.#find(directory, name)
    if (link !== undefined) this.remove(link)
    return link
  }

  #put(link: FollowedLink): FollowedLink {
    const links = this.#links.get(link.parent)
    if (links === undefined) this.#links.set(link.parent, new Map([[link.name, link]]))
    else links.set(link.name, link)
    this.#size++
    return link
  }
}
