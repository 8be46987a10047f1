import type { BigIntStats } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { HeldDirectory, lookUpAgain } from '../mounts/held.ts'
import { Replaced, reasonOf, SourceLost } from './interrupted.ts'

/** Which directory stood at the source's path, and on which mount. */
interface Identity {
  readonly dev: bigint
  readonly ino: bigint
  readonly mount: string
}

export interface OpenSource {
  readonly held: HeldDirectory
  readonly stat: BigIntStats
}

/**
 * The source's path, opened anew for each pass: a descriptor held in between would keep it from being unmounted and would
 * go on showing a directory that is no longer there.
 */
export class Source {
  readonly path: string
  #identity: Identity | undefined
  /** As of the last time that it was opened. */
  #revalidates: boolean | undefined

  constructor(path: string) {
    this.path = path
  }

  /**
   * Opens the directory, or throws {@link SourceLost}.
   *
   * @param thorough trust nothing that is known of its path
   */
  async open(thorough: boolean): Promise<OpenSource> {
    const opened = await this.#reach(thorough)
    try {
      const { dev, ino } = opened.stat
      const known = this.#identity
      if (known?.dev !== dev || known.ino !== ino)
        await this.#recognize(opened.held, { dev, ino, mount: await mountId(opened.held) })
      this.#revalidates = opened.held.revalidates
      return opened
    } catch (error) {
      await opened.held.close()
      throw error instanceof SourceLost ? error : new SourceLost(reasonOf(error))
    }
  }

  /**
   * Before anything is removed from the target: throws {@link Replaced} if another directory has taken the path and `read`,
   * from which names were missing, may be one on its way out; {@link SourceLost} if there is none.
   */
  async confirm(read: HeldDirectory): Promise<void> {
    const { held, stat } = await this.#reach(true)
    await held.close()
    const { dev, ino } = await read.stat()
    if (stat.dev !== dev || stat.ino !== ino) throw new Replaced('it was replaced while it was read')
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

  async #reach(thorough: boolean): Promise<OpenSource> {
    if (!thorough || this.#revalidates === false) {
      try {
        const opened = await this.#openHere(thorough ? undefined : this.#revalidates)
        if (opened.stat.nlink > 0n) return opened
        await opened.held.close()
      } catch {
        // What the error was worth shows when the dentries are fresh.
      }
    }
    // virtiofs.md: a directory made anew on the host is a false ENOENT, or the old one, until each component has been looked
    // up again.
    const parts = this.path.split('/')
    for (let n = 2; n <= parts.length; n++) await lookUpAgain(parts.slice(0, n).join('/'))
    try {
      return await this.#openHere()
    } catch (error) {
      throw new SourceLost(reasonOf(error))
    }
  }

  async #openHere(revalidates?: boolean): Promise<OpenSource> {
    const held = await HeldDirectory.open(this.path, revalidates)
    try {
      return { held, stat: await held.stat() }
    } catch (error) {
      await held.close()
      throw error
    }
  }
}

/** The id of the mount that a descriptor is on: proc_pid_fdinfo(5). Device numbers do not tell bind mounts apart. */
async function mountId(held: HeldDirectory): Promise<string> {
  const info = await readFile(`/proc/self/fdinfo/${held.fd}`, 'utf8')
  return /^mnt_id:\s*(\d+)$/m.exec(info)?.[1] ?? ''
}
