import { onTestFinished } from 'vitest'
import { formatMask, IN_ACCESS, IN_ALL_EVENTS, IN_CLOSE_NOWRITE, IN_OPEN, Inotify } from '../../src/index.ts'
import { eventsSoFar } from '../support/events.ts'

const READING = IN_ACCESS | IN_OPEN | IN_CLOSE_NOWRITE

/** The events of a directory: 'IN_MOVED_TO name', a line each. */
export interface Watched {
  /** Returns the events since the last call. */
  events(): Promise<string[]>
  /** Returns those of one name alone. */
  eventsOf(name: string): Promise<string[]>
}

/** Watches for all that writers cause; with `readers` for everything that inotify tells. */
export function watched(directory: string, readers = false): Watched {
  const inotify = new Inotify()
  onTestFinished(() => inotify.close())
  inotify.add(directory, readers ? IN_ALL_EVENTS : IN_ALL_EVENTS & ~READING)
  const soFar = async () => {
    const events = await eventsSoFar(inotify, directory)
    return events.filter(({ name }) => !name.startsWith('mark-'))
  }
  const line = ({ mask, name }: { mask: number; name: string }) => `${formatMask(mask)} ${name}`
  return {
    events: async () => (await soFar()).map(line),
    eventsOf: async (wanted) => (await soFar()).filter(({ name }) => name === wanted).map(line),
  }
}

/** Names that a shell, a terminal or a pattern would take for something else. */
export const STRANGE_NAMES = [
  'with space',
  'new\nline',
  '-rf',
  '$(touch x)',
  '\x1b[31mred',
  'ümlaut-日本',
  '*',
  '`id`',
  '%s',
  'a'.repeat(255),
]
