import type { Change } from '../watch/report/change.ts'

/** What has become of a path. */
export interface Event {
  type: 'create' | 'update' | 'delete'
  path: string
}

/** One event a path: what has come and gone is none, what has gone and come is an update. */
export function eventsOf(changes: Iterable<Change>): Event[] {
  const types = new Map<string, Event['type']>()
  const create = (path: string) => types.set(path, types.get(path) === 'delete' ? 'update' : 'create')
  const update = (path: string) => types.set(path, types.get(path) === 'create' ? 'create' : 'update')
  const remove = (path: string) => {
    if (types.get(path) === 'create') types.delete(path)
    else types.set(path, 'delete')
  }
  for (const change of changes) {
    if (!('mask' in change)) continue
    if (change.type === 'rename') remove(change.from)
    if (change.type === 'exchange') update(change.other)
    if (change.type === 'delete') remove(change.path)
    else if (change.type === 'create' || (change.type === 'rename' && !change.replaced)) create(change.path)
    else update(change.path)
  }
  return [...types].map(([path, type]) => ({ path, type }))
}
