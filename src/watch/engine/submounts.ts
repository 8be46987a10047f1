import { Directory } from '../tree/directory.ts'
import type { EngineContext } from './context.ts'
import type { MountedFiles } from './mounted_files.ts'

/** Follows mounts that come and go at roots, below them, and where links lead: the mount table tells of them, and no event does. */
export class Submounts {
  readonly #context: EngineContext
  readonly #mountedFiles: MountedFiles

  constructor(context: EngineContext, mountedFiles: MountedFiles) {
    this.#context = context
    this.#mountedFiles = mountedFiles
  }

  /** Looks at what is at these mount points now. */
  async look(points: readonly string[]): Promise<void> {
    const { rootMonitor, links } = this.#context
    await rootMonitor.onMounts(points)
    for (const { parent, name } of this.#mountedFiles.placesOf(points)) this.#lookAt(parent, name)
    // Watched before it is looked at: a write between the two would be in neither.
    await this.#mountedFiles.onMounts()
    links.onMounts(points)
  }

  #lookAt(parent: Directory, name: string): void {
    const { tree, pending, byPath } = this.#context
    const { work } = pending
    parent.mount.allow(parent, name)
    const entry = tree.entriesOf(parent).get(name)
    if (entry instanceof Directory) work.list(entry)
    // A file is mounted over the name, or is not any more. A file that is a root tells of itself.
    else if (entry !== undefined && !byPath.has(tree.pathOf(parent, name))) work.look(parent, name)
  }
}
