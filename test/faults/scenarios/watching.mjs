import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { watch } from '../../../dist/index.js'
import { Believed } from '../believed.mjs'

/**
 * Changes a tree while it is watched.
 *
 * @param {import('../../../dist/index.js').WatchOptions} options
 * @returns {import('../scenario.mjs').Make}
 */
function watching(options) {
  return (scratch) => {
    const root = join(scratch, 'root')
    const at = (/** @type {string} */ path) => join(root, path)
    mkdirSync(at('a'), { recursive: true })
    mkdirSync(at('b/c'), { recursive: true })
    writeFileSync(at('a/written'), 'before')
    writeFileSync(at('b/c/removed'), '')
    const believed = new Believed()
    // The paths that must be told as written or as created.
    let wanted = /** @type {string[]} */ ([])
    /** @type {unknown[]} */
    const errors = []
    /** @type {import('../../../dist/index.js').Watcher | undefined} */
    let watcher
    return {
      errors,
      async begin() {
        watcher = watch(root, { recursive: true, initial: true, ...options })
        watcher.on('error', (error) => errors.push(error))
        watcher.on('changes', (changes) => believed.apply(changes))
        await watcher.ready
      },
      async act() {
        believed.written.clear()
        wanted = [at('a/written'), at('d/e/made')]
        writeFileSync(at('a/written'), 'after, and longer')
        mkdirSync(at('d/e'), { recursive: true })
        writeFileSync(at('d/e/made'), '')
        renameSync(at('b'), at('renamed'))
        rmSync(at('renamed/c/removed'))
      },
      async actAgain() {
        // By now each directory has a watch or a poll, if it ever gets one.
        believed.written.clear()
        wanted = ['a/later', 'd/e/later', 'renamed/c/later'].map(at)
        for (const path of wanted) writeFileSync(path, '')
      },
      isRight() {
        const paths = there(root)
        const isWritten = wanted.every((path) => believed.written.has(path))
        return (
          isWritten && paths.length === believed.paths.size && paths.every((path) => believed.paths.has(path))
        )
      },
      known: () =>
        (watcher?.coverage() ?? []).flatMap(({ uncovered }) => uncovered.map(({ error }) => error)),
      async end() {
        await watcher?.close()
      },
    }
  }
}

/** @param {string} root */
function there(root) {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name))
}

export const watch_inotify = watching({ backend: 'inotify' })
export const watch_auto = watching({ interval: 20 })
export const watch_poll = watching({ backend: 'poll', interval: 20, hash: true })
