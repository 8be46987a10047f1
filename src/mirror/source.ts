import { readFile } from 'node:fs/promises'
import { HeldDirectory, lookUpAgain } from '../mounts/held.ts'
import { reasonOf, SourceLost } from './interrupted.ts'

/** Which directory stood at the source's path, and on which mount. */
interface Identity {
  readonly dev: bigint
  readonly ino: bigint
  readonly mount: string
}

/**
 * The source's path, opened anew for each pass: a descriptor held in between would keep it from being unmounted and would
 * go on showing a directory that is no longer there.
 */
export class Source {
  readonly path: string
  #identity: Identity | undefined

  constructor(path: string) {
    this.path = path
  }

  /** Opens the directory, or throws {@link SourceLost}. */
  async open(): Promise<HeldDirectory> {
    const held = await this.#reach()
    try {
      const { dev, ino } = await held.stat()
      const known = this.#identity
      if (known?.dev !== dev || known.ino !== ino)
        await this.#recognize(held, { dev, ino, mount: await mountId(held) })
      return held
    } catch (error) {
      await held.close()
      throw error instanceof SourceLost ? error : new SourceLost(reasonOf(error))
    }
  }

  /**
   * Decides whether another directory at the path is the source. Once a mount is gone the empty directory below it comes to
   * light, and taking that for the source would delete everything. An empty directory on the same mount is one that
   * somebody emptied or made anew.
   */
  async #recognize(held: HeldDirectory, found: Identity): Promise<void> {
    const known = this.#identity
    if (known !== undefined && known.mount !== found.mount && (await held.names()).length === 0) {
      throw new SourceLost('its mount is gone: an empty directory is left at its path')
    }
    this.#identity = found
  }

  async #reach(): Promise<HeldDirectory> {
    try {
      const held = await HeldDirectory.open(this.path)
      if ((await held.stat()).nlink > 0n) return held
      await held.close()
    } catch {
      // What the error was worth shows when the dentries are fresh.
    }
    // virtiofs.md: a directory made anew on the host is a false ENOENT until each component has been looked up again.
    const parts = this.path.split('/')
    for (let n = 2; n <= parts.length; n++) await lookUpAgain(parts.slice(0, n).join('/'))
    try {
      return await HeldDirectory.open(this.path)
    } catch (error) {
      throw new SourceLost(reasonOf(error))
    }
  }
}

/** The id of the mount that a descriptor is on: proc_pid_fdinfo(5). Device numbers do not tell bind mounts apart. */
async function mountId(held: HeldDirectory): Promise<string> {
  const info = await readFile(`/proc/self/fdinfo/${held.fd}`, 'utf8')
  return /^mnt_id:\s*(\d+)$/m.exec(info)?.[1] ?? ''
}
