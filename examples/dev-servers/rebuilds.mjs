// What is common to the programs: a project with one file that is edited, and what of it has been built.
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * @typedef {import('../stage.mjs').Stage['start']} Start
 * @typedef {{ project: string, out: string, isOurs: boolean, start: Start }} Place
 *
 * @typedef {object} Program
 * @property {string} name
 * @property {string} how how it comes by inotify-bridge
 * @property {string} file the one that is edited
 * @property {(version: number) => string} text what is in it
 * @property {Record<string, string>} files the others
 * @property {(place: Place) => Promise<Rebuilds>} run starts it; resolves when it has built for the first time
 */

const PATIENCE = 20_000

/** The program's file in what npm has installed. @param {string} file */
export const installed = (file) => join(import.meta.dirname, '../node_modules', file)

/** For node: fs.watch() is that of inotify-bridge/fs. */
export const PRELOAD = ['--import', join(import.meta.dirname, 'fs_watch.mjs')]

/** A module of which each version has another size: no two of them are alike to who compares times that are coarse. @param {number} version */
export const moduleText = (version) => `export const version = ${version} // ${'-'.repeat(version)}\n`

/** @param {string} text what is made of moduleText() @returns {number} 0: nothing that is whole */
export const versionIn = (text) => Number(/\bversion = (\d+)/.exec(text)?.[1] ?? 0)

/** Which version of its file a program has built. */
export class Rebuilds extends EventEmitter {
  version = 0

  /** @param {number} version */
  note(version) {
    this.version = Math.max(this.version, version)
    this.emit('built')
  }

  /** Resolves when this version, or a later one, is built. @param {number} version @param {number} [patience] ms, after which it rejects */
  async reach(version, patience = PATIENCE) {
    const signal = AbortSignal.timeout(patience)
    while (this.version < version)
      await once(this, 'built', { signal }).catch((cause) => {
        throw new Error(`version ${version} is not built in ${patience} ms, but ${this.version}`, { cause })
      })
  }
}

/**
 * Of a program that prints a line when it has built.
 *
 * @param {ReturnType<Start>} program
 * @param {(line: string) => number | undefined} versionOf the version that is built where it says so
 */
export async function rebuildsByLine(program, versionOf) {
  const rebuilds = new Rebuilds()
  createInterface(program.child.stdout).on('line', (line) => {
    const version = versionOf(line)
    if (version !== undefined) rebuilds.note(version)
  })
  await firstOf(program, rebuilds)
  return rebuilds
}

/** @param {ReturnType<Start>} program @param {Rebuilds} rebuilds */
async function firstOf(program, rebuilds) {
  const ended = program.exited.then(() => {
    throw new Error(`it has ended: ${program.output}`)
  })
  ended.catch(() => {})
  await Promise.race([rebuilds.reach(1), ended]).catch((error) => {
    throw new Error(`it has not built: ${program.output}`, { cause: error })
  })
}

/** What is built of the file, as it lies there. @param {string} file */
export const versionBuilt = (file) => versionIn(readFileSync(file, 'utf8'))
