import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ADDON_FILE, ENTER_FILE, RUN_FILE } from '../../addon.ts'
import { messageOf } from '../../errors.ts'

/** Of a directory in native/ in which something is compiled. */
const PREFIX = '.build-'

/** What is compiled, within a directory of sources. */
const RELEASE = 'build/Release'

/**
 * A copy of the sources, in which they are compiled: node-gyp begins by removing the build that is there, which may be in use, and leaves none where
 * it fails. On the same mount, so that what has been made can be renamed into place.
 */
export class Workspace implements Disposable {
  readonly directory: string
  readonly #native: string

  /** @param native the directory of the sources */
  constructor(native: string) {
    this.#native = native
    this.directory = mkdtempSync(join(native, PREFIX))
    try {
      for (const name of readdirSync(native)) {
        if (name === 'build' || name.startsWith(PREFIX)) continue
        cpSync(join(native, name), join(this.directory, name), { recursive: true })
      }
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  /**
   * Puts what has been compiled in the place of what was there, if it can be loaded; returns the addon's path. Each file by a rename, so that there is one
   * at any moment, and a process that has loaded the former keeps it.
   */
  install(): string {
    const made = join(this.directory, RELEASE)
    try {
      createRequire(join(made, 'any.js'))(join(made, ADDON_FILE))
    } catch (cause) {
      const why = messageOf(cause)
      throw new Error(`what has been compiled cannot be loaded: ${why}`, { cause })
    }
    mkdirSync(join(this.#native, RELEASE), { recursive: true })
    // The addon is the last: with it the package can be used.
    for (const file of [ENTER_FILE, RUN_FILE, ADDON_FILE])
      if (existsSync(join(made, file))) renameSync(join(made, file), join(this.#native, RELEASE, file))
    return join(this.#native, RELEASE, ADDON_FILE)
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}
