import { appendFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The directories of a program that is played. */
export interface Place {
  /** The source, which is changed. */
  back: string
  /** The mount, by which the program sees the source. */
  front: string
  /** On the file system that `back` is on; for what the program writes. */
  out: string
  /** A free port. */
  port: number
}

export interface Consumer {
  readonly name: string
  /** '' if it is installed. */
  readonly lacks: string
  /** Ends with `front` where any number of directories may follow. */
  readonly argv: (place: Place) => string[]
  /** Given to it on stdin. */
  readonly input?: (place: Place) => string
  /** Besides the file that is changed. */
  readonly files?: Readonly<Record<string, string>> | undefined
  /** Makes version `n` of the file; 0 before the program starts. May return a promise. */
  readonly change: (place: Place, n: number) => unknown
  /** All that it has said of versions, or the one that it has when it is asked. */
  readonly noticed: (place: Place, output: string) => string[] | Promise<string[]>
  /** The same, when version `n` is the last, and none was missed, nor told twice. */
  readonly expected: (n: number) => string[]
  /** The path below `front` that the program watches, '' for `front` itself; undefined: the program looks now and then, and makes no watch. */
  readonly watches: string | undefined
  /** True once the program would notice a change, where it does not always. */
  readonly listens?: (pid: number) => boolean
  /** For how long it disregards another change after one, in ms, which nobody can see. */
  readonly restsFor?: number
  /** For how long it may be that the kernel remembers what the mount's server has said, in seconds; an hour if it is not said. */
  readonly remembered?: number
}

/** Makes what the program is to find, and returns the command line of it. */
export async function prepare(consumer: Consumer, place: Place): Promise<string[]> {
  for (const [name, text] of Object.entries(consumer.files ?? {})) writeFileSync(join(place.back, name), text)
  await consumer.change(place, 0)
  return consumer.argv(place)
}

/** Renames a new file over it, from where nobody watches. */
export function replace({ back, out }: Place, file: string, text: string, time?: number): void {
  const draft = join(out, 'draft')
  writeFileSync(draft, text)
  if (time !== undefined) utimesSync(draft, time, time)
  renameSync(draft, join(back, file))
}

/** By turns a new file and one more line. Each is one system call, of which no look sees a half. */
export function byLines(place: Place, n: number): void {
  if (n % 2 === 0) appendFileSync(join(place.back, 'lines'), `${n}\n`)
  else replace(place, 'lines', `${n}\n`)
}

/** By turns a new file, and the same one written anew. */
export const byText = (file: string, text: (n: number) => string) => (place: Place, n: number) => {
  if (n % 2 === 0) writeFileSync(join(place.back, file), text(n))
  else replace(place, file, text(n))
}
