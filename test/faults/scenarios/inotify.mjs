import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { IN_CLOSE_WRITE, IN_CREATE, Inotify } from '../../../dist/index.js'

// Longer than the guard thread waits for the loop.
const STUCK_MS = 40

/**
 * An instance, events that are delivered, and events that come while the loop is stuck.
 *
 * @type {import('../scenario.mjs').Make}
 */
export function inotify(scratch) {
  const directories = ['first', 'second'].map((name) => join(scratch, name))
  for (const directory of directories) mkdirSync(directory)
  /** @type {unknown[]} */
  const errors = []
  /** @type {Set<string>} */
  const told = new Set()
  const wanted = new Set(['plain', ...Array.from({ length: 20 }, (_, i) => `stuck-${i}`)])
  /** @type {Inotify | undefined} */
  let instance
  return {
    errors,
    async begin() {
      instance = new Inotify()
      instance.on('error', (error) => errors.push(error))
      instance.on('events', (batch) => {
        for (const { name } of batch) told.add(name)
      })
      instance.add(directories[0] ?? '', IN_CREATE | IN_CLOSE_WRITE)
    },
    async act() {
      for (const name of wanted) writeFileSync(join(directories[0] ?? '', name), '')
      for (const end = Date.now() + STUCK_MS; Date.now() < end; );
      const wd = instance?.add(directories[1] ?? '', IN_CREATE) ?? 0
      instance?.remove(wd)
    },
    isRight: () => [...wanted].every((name) => told.has(name)),
    async end() {
      instance?.close()
    },
  }
}
