import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { moveFile, publishDirectory, replaceFile } from '../../../dist/index.js'

/**
 * Publishes a new version over an old one. The published content must be old or new, and once the fault is
 * over it can be published and no other file is left.
 *
 * @param {(directory: string) => Promise<void>} publish
 * @param {(directory: string) => string} read
 * @param {(names: string[]) => boolean} isClean
 * @param {(directory: string) => void} prepare
 * @returns {import('../scenario.mjs').Make}
 */
function publishing(publish, read, isClean, prepare) {
  return (scratch) => {
    const directory = join(scratch, 'published')
    mkdirSync(directory)
    prepare(directory)
    /** @type {unknown[]} */
    const errors = []
    return {
      errors,
      async begin() {},
      async act() {
        try {
          await publish(directory)
        } finally {
          const found = read(directory)
          if (!['old', 'new'].includes(found)) errors.push(new Error(`neither old nor new: ${found}`))
        }
      },
      async isRight() {
        if (read(directory) === 'new') return isClean(readdirSync(directory))
        await publish(directory).catch((error) => errors.push(error))
        return false
      },
      async end() {},
    }
  }
}

const file = (/** @type {string} */ directory) => readFileSync(join(directory, 'key'), 'utf8')
const isAlone = (/** @type {string[]} */ names) => names.length === 1
const withOld = (/** @type {string} */ directory) => writeFileSync(join(directory, 'key'), 'old')

export const replace_file = publishing(
  (directory) => replaceFile(join(directory, 'key'), 'new', { mode: 0o640 }),
  file,
  isAlone,
  withOld,
)

export const move_file = publishing(
  async (directory) => {
    // This is another mount than that of the scratch directory.
    const elsewhere = mkdtempSync(join(tmpdir(), 'inotify-bridge-'))
    try {
      writeFileSync(join(elsewhere, 'made'), 'new')
      await moveFile(join(elsewhere, 'made'), join(directory, 'key'))
    } finally {
      rmSync(elsewhere, { recursive: true })
    }
  },
  file,
  isAlone,
  withOld,
)

export const publish_directory = publishing(
  async (directory) => void (await publishDirectory(directory, { key: 'new', other: 'too' })),
  (directory) => (readdirSync(directory).includes('key') ? file(directory) : 'old'),
  // The names are the two keys, ..data and its version.
  (names) => names.length === 4,
  () => {},
)
