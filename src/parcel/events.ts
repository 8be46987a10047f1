import type { Change } from '../watch/report/change.ts'

/** What has become of a path. */
export interface Event {
  type: 'create' | 'update' | 'delete'
  path: string
}

/** Changes, of which those of directories speak for all below them one by one, as one event a path: what has come and gone is none, what has gone and come was updated. */
export function eventsOf(changes: Iterable<Change>): Event[] {
  const types = new Map<string, Event['type']>()
  const create = (path: string) => types.set(path, types.get(path) === 'delete' ? 'update' : 'create')
  const update = (path: string) => {
    if (types.get(path) !== 'create') types.set(path, 'update')
  }
  const remove = (path: string) => {
    if (types.get(path) === 'create') types.delete(path)
    else types.set(path, 'delete')
  }
  for (const change of changes) {
    if (!('mask' in change)) continue
    const { type, path } = change
    if (type === 'create') create(path)
    else if (type === 'delete') remove(path)
    else if (type === 'rename') {
      remove(change.from)
      if (change.replaced) update(path)
      else create(path)
    } else if (type === 'exchange') {
      update(path)
      update(change.other)
    } else if (change.kind !== 'directory') update(path)
  }
  return [...types].map(([path, type]) => ({ path, type }))
}
