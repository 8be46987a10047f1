// Usage: watcher fs.watch|chokidar DIRECTORY
//
// Says "ready", then a line an event.
import { watch } from 'node:fs'
import * as chokidar from 'chokidar'

const [, , by, directory = ''] = process.argv
/** @param {string} event @param {string | null} name */
const say = (event, name) => console.log(event, name)
if (by === 'fs.watch') {
  watch(directory, say)
  console.log('ready')
} else {
  chokidar
    .watch(directory, { ignoreInitial: true, cwd: directory })
    .on('all', say)
    .on('ready', () => console.log('ready'))
}
