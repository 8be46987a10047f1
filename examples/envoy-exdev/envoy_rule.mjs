// Envoy's rule for files that it reads again (its source/common/filesystem/inotify/watcher_impl.cc), imitated: Debian has no Envoy. It watches the directory for IN_MODIFY and IN_MOVED_TO, and acts on IN_MOVED_TO alone, of exactly the file's name; with
// `watched_directory`, of any name in that.
import { IN_MODIFY, IN_MOVED_TO, Inotify } from '../../dist/index.js'

export class EnvoyRule {
  #inotify = new Inotify()
  /** Names of what was moved in, where it read its file again. @type {string[]} */
  reloads = []
  /** All names that it was told of. @type {Set<string>} */
  heard = new Set()

  /**
   * @param {string} directory of the file; or the watched_directory
   * @param {string} [name] of the file; any, if it is left out
   */
  constructor(directory, name) {
    this.#inotify.add(directory, IN_MODIFY | IN_MOVED_TO)
    this.#inotify.on('events', (batch) => {
      for (const event of batch) {
        this.heard.add(event.name)
        if (event.mask & IN_MOVED_TO && (name ?? event.name) === event.name) this.reloads.push(event.name)
      }
    })
  }

  close() {
    this.#inotify.close()
  }
}
