import { accessSync, constants, lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { isMountPoint } from '../mounts/mount_of.ts'
import { type Sink, watchTree } from './sources.ts'

interface Poll {
  /** Each with the name in the directory that it is about; undefined: the directory. */
  readonly sinks: Map<Sink, Buffer | undefined>
  readonly end: () => void
}

/** By directory. A program may watch each of its files, as chokidar 3 does: a directory is polled once for all of them. */
const polls = new Map<string, Poll>()

/** Files of one directory that are polled one by one before the directory is: a file may lie among 100,000 others. Each takes a watcher of its own. */
const MOST_ALONE = 2

const alone = new Map<string, Set<Sink>>()

/** A file, or a directory's entries, where events do not tell all. The answer ends it. */
export function watchPolled(path: string, sink: Sink): () => void {
  const [directory, name] = isInDirectory(path) ? [dirname(path), Buffer.from(basename(path))] : [path]
  const others = alone.get(directory) ?? new Set()
  if (name !== undefined && !polls.has(directory) && others.size < MOST_ALONE) {
    const end = watchTree(path, {}, false, sink)
    alone.set(directory, others.add(sink))
    return () => {
      others.delete(sink)
      if (others.size === 0) alone.delete(directory)
      end()
    }
  }
  const poll = polls.get(directory) ?? open(directory)
  poll.sinks.set(sink, name)
  return () => {
    if (poll.sinks.delete(sink) && poll.sinks.size === 0) close(directory, poll)
  }
}

/** Returns true if whoever polls the directory sees all of a file: not where another is mounted in its place, or where a link leads to it. */
function isInDirectory(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true || isMountPoint(path)) return false
  try {
    accessSync(dirname(path), constants.R_OK)
    return true
  } catch {
    return false
  }
}

function open(directory: string): Poll {
  const sinks: Poll['sinks'] = new Map()
  const end = watchTree(directory, {}, false, {
    tell(type, name) {
      for (const [sink, own] of [...sinks])
        if (own === undefined) sink.tell(type, name)
        else if (name === null) sink.tell(type, null)
        // The directory is another, or gone.
        else if (name === undefined ? type === 'rename' : name.equals(own)) sink.tell(type, undefined)
    },
    fail(error) {
      close(directory, poll)
      for (const sink of [...sinks.keys()]) sink.fail(error)
    },
  })
  const poll = { sinks, end }
  polls.set(directory, poll)
  return poll
}

function close(directory: string, poll: Poll): void {
  if (polls.get(directory) === poll) polls.delete(directory)
  poll.end()
}
