import { expect, test } from 'vitest'
import { IN_DELETE, IN_MODIFY } from '../../../src/index.ts'
import type { OpenNames } from '../../../src/watch/events/batch_view.ts'
import type { EventsContext } from '../../../src/watch/events/context.ts'
import { EventHandler } from '../../../src/watch/events/event_handler.ts'
import { Shortage } from '../../../src/watch/report/shortage.ts'
import type { Entry, LookedAt } from '../../../src/watch/scan/entry.ts'
import { file } from '../tree/believed.ts'
import { batchOf } from './batches.ts'
import { World } from './translating.ts'

test.each([
  [
    'where a poll looks as well, also by a look behind a write: another file may be believed since then',
    'inotify+poll',
    ['f', 'g'],
  ],
  ['else by events about the name alone', 'inotify', ['g']],
] as const)(
  'what was seen of a doubt is out of date by an event about the name; %s',
  async (_, backend, spoken) => {
    const w = new World({ f: 1, g: 2 })
    w.mount.backend = backend
    const seen: Record<string, Entry | null> = { f: file(3), g: null }
    const { tree, translator, rules, pending } = w
    const { rechecks } = pending
    const context = {
      tree,
      looker: {
        look: async (open: OpenNames) => {
          for (const each of open.get(w.root.wd) ?? []) (each as LookedAt).seen = seen[each.name]
        },
      },
      rules,
      pending,
      translator,
      reporter: { report() {} },
      shortage: new Shortage({ trouble() {} }),
    } as unknown as EventsContext
    rechecks.addAll(w.root)
    rechecks.begin()
    const events = new EventHandler(context)
    const batch = batchOf([w.event(IN_MODIFY, 'f'), w.event(IN_DELETE, 'g')])
    await events.handle(batch, 0, batch.length, () => {})
    expect([...rechecks.spokenIn(w.root)].toSorted()).toEqual(spoken)
  },
)
