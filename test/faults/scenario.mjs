/**
 * Something that makes system calls, in two steps. A step that rejects has failed, and said so.
 *
 * @typedef {object} Scenario
 * @property {() => Promise<void>} begin
 * @property {() => Promise<void>} act
 * @property {() => Promise<void>} [actAgain] when the fault is over, and what it did repaired
 * @property {() => boolean | Promise<boolean>} isRight whether what was told, or made, is what is there
 * @property {() => Promise<void>} end
 * @property {unknown[]} errors what was told apart from the steps
 * @property {() => unknown[]} [known] errors that are answered when somebody asks
 */

/** @typedef {(scratch: string) => Scenario} Make */

import { inotify } from './scenarios/inotify.mjs'
import { mirroring } from './scenarios/mirroring.mjs'
import { move_file, publish_directory, replace_file } from './scenarios/publishing.mjs'
import { watch_auto, watch_inotify, watch_poll } from './scenarios/watching.mjs'

/** @type {Record<string, Make>} */
export const SCENARIOS = {
  inotify,
  watch_auto,
  watch_inotify,
  watch_poll,
  mirroring,
  replace_file,
  move_file,
  publish_directory,
}
