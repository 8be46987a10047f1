import type { WalkRequest } from '../../../src/watch/scan/walk_request.ts'
import type { RecordSpec } from '../../watch/scan/records.ts'
import type { FileTree } from '../kernel/file_tree.ts'
import type { Inode } from '../kernel/inode.ts'
import type { InotifyGroup } from '../kernel/inotify_group.ts'
import type { DirReader, Steps, Visit } from './dir_reader.ts'
import type { KnownDigests } from './known_digests.ts'

const UNCHANGED = 32

/** A directory that is open until all directories in it have been visited. */
interface Node {
  request: number
  parent: Node | undefined
  inode: Inode
  /** The path that the walk came by. Another directory may be there by now. */
  path: string
  spec: Visit['spec']
  // Undefined: not told.
  id: number | undefined
  place: string
  left: string[]
  references: number
}

export interface WalkParts {
  tree: FileTree
  reader: DirReader
  digests: KnownDigests
  requests: readonly WalkRequest[]
  watching: { group: InotifyGroup; mask: number } | undefined
  /** Takes the record of a directory. Parents come first. */
  tell(record: RecordSpec): void
}

/** One depth-first pass through directories, like native/walker/walk.cc and native/scan/walk_queue.cc. */
export class Walk {
  readonly #parts: WalkParts
  readonly #stack: Node[] = []
  #nextId: number
  isCancelled = false

  constructor(parts: WalkParts) {
    this.#parts = parts
    this.#nextId = parts.requests.length
  }

  *run(): Steps<void> {
    const requests = byPath(this.#parts.requests)
    while (!this.isCancelled) {
      const top = this.#stack.at(-1)
      if (top !== undefined) {
        const name = top.left.shift() ?? ''
        top.references++
        if (top.left.length === 0) this.#stack.pop()
        yield* this.#visit(top.request, top, name)
        if (top.left.length === 0) this.#release(top)
        this.#release(top)
        continue
      }
      const request = requests.shift()
      if (request === undefined) break
      yield* this.#visit(request, undefined, '')
    }
    for (const node of this.#stack.splice(0)) this.#release(node)
  }

  *#visit(index: number, parent: Node | undefined, name: string): Steps<void> {
    const { reader, requests, digests, watching } = this.#parts
    const request = requests[index] as WalkRequest
    const path = parent === undefined ? pathOf(request) : `${parent.path}/${name}`
    const { spec, directory, subdirectories } = yield* reader.visit(
      request,
      parent?.inode,
      name,
      path,
      watching,
    )
    const above = parent?.place ?? JSON.stringify({ ...request, statOnly: false })
    const place = `${above}/${spec.ino} ${name}`
    const digest = request.compare ? `${place} ${JSON.stringify(spec)}` : undefined
    const isReliable = spec.error === undefined && !((spec.flags ?? 0) & 8)
    const isKnown = digest !== undefined && isReliable && digests.knows(digest)
    if (digest !== undefined && isReliable) digests.find(digest)
    const id = isKnown ? undefined : this.#tell(spec, index, parent)
    if (directory === undefined) return
    if (parent !== undefined) parent.references++
    const left = subdirectories
    this.#stack.push({ request: index, parent, inode: directory, path, spec, id, place, left, references: 1 })
  }

  #tell(spec: Visit['spec'], request: number, parent: Node | undefined): number {
    if (parent === undefined) {
      this.#parts.tell({ ...spec, id: request })
      return request
    }
    const above = this.#tellOf(parent)
    const id = this.#nextId++
    this.#parts.tell({ ...spec, id, parent: above })
    return id
  }

  // Tells an unchanged directory as a stub, so that a changed directory below has a parent.
  #tellOf(node: Node): number {
    if (node.id !== undefined) return node.id
    const { name, ino, mode, mountId } = node.spec
    const stub = { name, ino, mode, mountId, flags: UNCHANGED } as Visit['spec']
    node.id = this.#tell(stub, node.request, node.parent)
    return node.id
  }

  #release(node: Node): void {
    if (--node.references > 0) return
    this.#parts.tree.close(node.inode)
    if (node.parent !== undefined) this.#release(node.parent)
  }
}

/**
 * Returns the indices of requests in the order of the walk: a directory comes before the directories in it.
 */
function byPath(requests: readonly WalkRequest[]): number[] {
  const paths = requests.map((request) => pathOf(request).replaceAll('/', '\0'))
  const compare = (a: number, b: number) => ((paths[a] as string) < (paths[b] as string) ? -1 : 1)
  return [...paths.keys()].sort((a, b) => (paths[a] === paths[b] ? a - b : compare(a, b)))
}

function pathOf({ root, rel }: WalkRequest): string {
  return rel === '' ? root : `${root}/${rel}`
}
