import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mirror } from '../../../dist/index.js'

/**
 * A source that is changed while it is mirrored.
 *
 * @type {import('../scenario.mjs').Make}
 */
export function mirroring(scratch) {
  const source = join(scratch, 'source')
  const target = join(scratch, 'target')
  mkdirSync(join(source, 'below'), { recursive: true })
  writeFileSync(join(source, 'written'), 'before')
  writeFileSync(join(source, 'removed'), '-')
  writeFileSync(join(source, 'below/deep'), 'deep')
  symlinkSync('below/deep', join(source, 'link'))
  /** @type {unknown[]} */
  const errors = []
  /** @type {import('../../../dist/index.js').Mirror | undefined} */
  let mirrored
  return {
    errors,
    async begin() {
      mirrored = await mirror(source, target, { interval: 20, quiet: 5 })
      mirrored.on('error', (error) => errors.push(error))
      mirrored.on('skipped', ({ reason }) =>
        errors.push(Object.assign(new Error(reason), { code: 'skipped' })),
      )
    },
    async act() {
      writeFileSync(join(source, 'written'), 'after, and longer')
      mkdirSync(join(source, 'made'))
      writeFileSync(join(source, 'made/file'), 'new')
      rmSync(join(source, 'removed'))
    },
    async actAgain() {
      writeFileSync(join(source, 'written'), 'once more')
    },
    isRight: () =>
      existsSync(target) && JSON.stringify(contents(source)) === JSON.stringify(contents(target)),
    async end() {
      await mirrored?.close()
    },
  }
}

/** Paths and what the files hold. @param {string} directory */
function contents(directory) {
  /** @type {Array<[string, string | undefined]>} */
  const found = []
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()) {
    if (name.startsWith('.inotify-bridge-')) continue
    try {
      found.push([name, readFileSync(join(directory, name), 'utf8')])
    } catch {
      found.push([name, undefined])
    }
  }
  return found
}
