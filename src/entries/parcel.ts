import { getEventsSince, subscribe, unsubscribe, writeSnapshot } from '../parcel/parcel.ts'
import { loadEngineBy } from '../watch/engine_part.ts'

export type { Event } from '../parcel/events.ts'
export {
  type AsyncSubscription,
  type BackendType,
  getEventsSince,
  type Options,
  type SubscribeCallback,
  subscribe,
  unsubscribe,
  writeSnapshot,
} from '../parcel/parcel.ts'
export default { subscribe, unsubscribe, writeSnapshot, getEventsSince }

loadEngineBy(() => import('../watch/open_engine.ts'))
