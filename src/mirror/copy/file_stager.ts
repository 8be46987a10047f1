import { InotifyError } from '../../errors.ts'
import type { SourceFile, TargetFile } from '../plan/tree.ts'
import type { SourceHandle } from '../source/source_handle.ts'
import { copyFile } from './safe_copy.ts'
import type { StagingArea } from './staging_area.ts'

/** Copies single files into the staging area, which is made with the first of them. */
export class FileStager {
  readonly #work: () => Promise<StagingArea>
  #alone: Promise<unknown> = Promise.resolve()

  constructor(work: () => Promise<StagingArea>) {
    this.#work = work
  }

  /**
   * @param at how people call the file, beneath the source
   * @param isReadAgain see {@link copyFile}
   */
  async copy(
    held: SourceHandle,
    name: string,
    file: SourceFile,
    at: string,
    isReadAgain: boolean,
  ): Promise<TargetFile> {
    const copyOnce = () => this.#copyOnce(held, name, file, at, isReadAgain)
    try {
      return await copyOnce()
    } catch (error) {
      if (!(error instanceof InotifyError && ['ENOSPC', 'EDQUOT'].includes(error.code))) throw error
    }
    // Parallel copies may have taken the room without fitting themselves: one after another, all that fit do.
    const alone = this.#alone.then(copyOnce)
    this.#alone = alone.catch(() => {})
    return await alone
  }

  async #copyOnce(
    held: SourceHandle,
    name: string,
    { key }: SourceFile,
    at: string,
    isReadAgain: boolean,
  ): Promise<TargetFile> {
    const work = await this.#work()
    const place = work.next()
    let digest: string
    try {
      const to = { directory: work.held, name: place, shown: `${work.shown}/${at}` }
      digest = await copyFile(held, name, key, to, isReadAgain)
    } catch (error) {
      // A part would take the room on a full tmpfs from files that still fit. If even this fails, the end of the pass
      // clears it.
      await work.held.calls.unlink(work.held.at(place)).catch(() => {})
      throw error
    }
    const copy: TargetFile = { kind: 'file', key, digest }
    work.files.set(copy, place)
    return copy
  }
}
