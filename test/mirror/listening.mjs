import fs from 'node:fs'
import { join } from 'node:path'

/** @typedef {typeof import('../../src/index.ts')} Library */
/** @typedef {{ event: string, name: string }} Heard */

/** Whatever a change of the content would give, reading left out: IN_ALL_EVENTS without ACCESS, CLOSE_NOWRITE and OPEN. */
export const CHANGES = 0xfff & ~0x31

/**
 * An ordinary inotify user of a directory.
 *
 * @param {Library} library
 * @param {string} path
 * @param {string} marks a directory beside it
 * @param {number} mask
 */
export function listenTo({ formatMask, IN_CREATE, Inotify }, path, marks, mask = CHANGES) {
  const inotify = new Inotify()
  const wd = inotify.add(path, mask)
  // Events come in order for all watches: once this one's has come there is none left of the other's.
  const markWd = inotify.add(marks, IN_CREATE)
  /** @type {Heard[]} */
  const events = []
  /** @type {Set<() => void>} */
  const waiting = new Set()
  let mark = ''
  /** Called in the event, before anything else can run. @type {(heard: Heard) => void} */
  let onEvent = () => {}
  inotify.on('events', (batch) => {
    for (const event of batch) {
      if (event.wd === markWd) mark = event.name
      if (event.wd !== wd) continue
      const heard = { event: formatMask(event.mask), name: event.name }
      events.push(heard)
      onEvent(heard)
    }
    for (const each of waiting) each()
  })
  /** @param {() => boolean} condition @returns {Promise<void>} */
  const until = (condition) =>
    new Promise((resolve) => {
      const check = () => {
        if (!condition()) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })
  return {
    /** @param {typeof onEvent} listener */
    onEvent(listener) {
      onEvent = listener
    },
    /** @param {string} name */
    async next(name) {
      const count = () => events.filter((event) => event.name === name).length
      const before = count()
      await until(() => count() > before)
    },
    /** Those that have come since this was last asked. */
    async soFar() {
      const name = `mark-${process.hrtime.bigint()}`
      fs.writeFileSync(join(marks, name), '')
      await until(() => mark === name)
      return events.splice(0)
    },
    /** All events until now; listens no more. */
    async end() {
      const last = await this.soFar()
      inotify.close()
      return last
    },
    close() {
      inotify.close()
    },
  }
}
