import { promises, watch } from 'node:fs'

/** A function that inotify-bridge/register has put in the place of Node's, which it keeps. */
export type InPlaceOf<Nodes> = Nodes & { readonly nodesOwn?: Nodes }

const nodesOwn = <Nodes>(found: InPlaceOf<Nodes>): Nodes => found.nodesOwn ?? found

// As they are now: whoever puts this package's functions in their place has those call themselves otherwise.
export const nodeWatch = nodesOwn(watch)
export const nodeWatchPromises = nodesOwn(promises.watch)
