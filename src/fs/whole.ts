import nodes from 'node:fs'
import { watch as watchPromises } from './promises.ts'
import { watch } from './watch.ts'

type With<T, Own> = Omit<T, keyof Own> & Own

/** Gives a module of Node's with other functions in the place of its own. The rest is read from Node's when the caller reads it. */
function withOwn<T extends object, Own extends object>(original: T, own: Own): With<T, Own> {
  return Object.create(original, Object.getOwnPropertyDescriptors(own))
}

/** `node:fs/promises`, with this package's `watch`. */
export type WholePromises = With<typeof nodes.promises, { watch: typeof watchPromises }>

let promises: WholePromises | undefined

export function wholePromises(): WholePromises {
  promises ??= withOwn(nodes.promises, { watch: watchPromises })
  return promises
}

/** `node:fs`, with this package's `watch` and `promises.watch`. */
export type WholeFs = With<typeof nodes, { watch: typeof watch; readonly promises: WholePromises }>

export const wholeFs: WholeFs = withOwn(nodes, {
  watch,
  // A getter: Node loads `fs.promises` when a program reads it.
  get promises() {
    return wholePromises()
  },
})
