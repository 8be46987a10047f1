// node --expose-gc open_close.mjs DIRECTORY COUNT: opens COUNT watchers of the directory, ten at a time, and
// closes each at its first event, while another process changes the directory. Prints the inotify descriptors
// and threads that are left, and the memory of the process, in MiB, at each tenth of the way.
import { once } from 'node:events'
import { IN_ALL_EVENTS } from '../../out/inotify/constants.js'
import { Inotify } from '../../out/inotify/inotify.js'
import { left, memory, threads } from './what_is_left.mjs'

const [directory = '', count] = [process.argv[2], Number(process.argv[3])]

async function openAndClose() {
  const inotify = new Inotify()
  inotify.add(directory, IN_ALL_EVENTS)
  await once(inotify, 'events')
  inotify.close()
}

// The first makes threads that stay.
await openAndClose()
const before = threads()
/** @type {number[]} */
const rss = []
for (let done = 0; done < count; ) {
  await Promise.all(Array.from({ length: 10 }, openAndClose))
  done += 10
  if (done >= ((rss.length + 1) * count) / 10) rss.push(memory())
}
process.stdout.write(JSON.stringify({ ...left(before), rss }))
