/**
 * A user of system calls, in two steps. A step that rejects has failed and reported the failure.
 *
 * @typedef {object} Scenario
 * @property {() => Promise<void>} begin
 * @property {() => Promise<void>} act
 * @property {() => Promise<void>} [actAgain] acts once more after the fault, and after its consequences are repaired
 * @property {() => boolean | Promise<boolean>} isRight compares the changes, or the content, with the file system
 * @property {() => Promise<void>} end
 * @property {unknown[]} errors errors that were told apart from the steps
 * @property {() => unknown[]} [known] errors that a question of the user shows
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
