import { ByName } from '../../tree/by_name.ts'
import type { Directory } from '../../tree/directory.ts'
import type { MovedLink } from '../../tree/tree.ts'
import { FollowedLink } from './followed_link.ts'

/** Followed links by directory and name. */
export class LinkPlaces implements Iterable<FollowedLink> {
  readonly #links = new ByName<Directory, FollowedLink>()

  /** The number of directories with links. */
  get directories(): number {
    return this.#links.size
  }

  *[Symbol.iterator](): Generator<FollowedLink> {
    for (const [, links] of this.#links) yield* links.values()
  }

  /** Returns the link at a name: a new one, if there was none. */
  at(parent: Directory, name: string): FollowedLink {
    return this.#links.at(parent, name) ?? this.put(new FollowedLink(parent, name))
  }

  has(link: FollowedLink): boolean {
    return this.#links.at(link.parent, link.name) === link
  }

  /** Returns false if the link was not there. */
  remove(link: FollowedLink): boolean {
    return this.has(link) && this.#links.take(link.parent, link.name) !== undefined
  }

  /**
   * Moves links at the same time, as an exchange does.
   *
   * @returns the links that are gone, or whose place others have taken, and the places of links at which nobody has looked
   */
  move(moved: readonly MovedLink[]): { displaced: FollowedLink[]; unknown: Array<MovedLink['from']> } {
    const taken = moved.map(({ from, to }) => ({ link: this.#links.take(from.directory, from.name), to }))
    const displaced = taken
      .map(({ link, to }) => (to === undefined ? link : this.#links.take(to.directory, to.name)))
      .filter((link) => link !== undefined)
    const unknown: Array<MovedLink['from']> = []
    for (const { link, to } of taken) {
      if (to === undefined) continue
      if (link?.target === undefined) unknown.push(to)
      if (link === undefined) continue
      link.parent = to.directory
      link.name = to.name
      this.put(link)
    }
    return { displaced, unknown }
  }

  put<Link extends FollowedLink>(link: Link): Link {
    this.#links.put(link.parent, link.name, link)
    return link
  }
}
