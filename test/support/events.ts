import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Inotify, InotifyEvent } from '../../src/index.ts'

/**
 * Collects an Inotify's events until one about `name` comes (it is left out). The condition to await in place of a time: whatever
 * was done before the named file was made has been delivered before it.
 */
export async function eventsUntil(inotify: Inotify, name: string): Promise<InotifyEvent[]> {
  const events: InotifyEvent[] = []
  for await (const batch of inotify) {
    for (const event of batch) {
      if (event.name === name) return events
      events.push(event)
    }
  }
  throw new Error(`closed before ${name} came`)
}

/** All events so far: makes a file in a watched directory and waits for it. The directory must be watched for IN_CREATE. */
export async function eventsSoFar(inotify: Inotify, directory: string): Promise<InotifyEvent[]> {
  const mark = `mark-${process.hrtime.bigint()}`
  writeFileSync(join(directory, mark), '')
  return eventsUntil(inotify, mark)
}
