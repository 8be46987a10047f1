import * as own from '../entries/parcel.ts'
import { originalOf } from '../original.ts'

export const { getEventsSince, subscribe, unsubscribe, writeSnapshot } =
  originalOf<typeof own>('inotify-bridge/parcel', '@parcel/watcher') ?? own
export default { subscribe, unsubscribe, writeSnapshot, getEventsSince }
