// The scenarios of test/mirror/scenarios/, with the host's changes behind virtiofs.
import { join } from 'node:path'
import { play, SCENARIOS } from '../../mirror/scenarios/all.mjs'
import { library } from '../../mirror/scenarios/library.mjs'
import { Scene } from '../../mirror/scenarios/scene.mjs'
import { ask, memory, report, share } from './host.mjs'

for (const n of SCENARIOS.keys()) await ask('makeDirectory', { path: `${n}/source` })
report(
  await play(
    'guest',
    (n) =>
      new Scene({
        library,
        mount: { kind: 'guest', isRoot: true },
        home: join(share, `${n}`),
        memory: memory(`${n}`),
        change: (operation, { path = '', ...rest }) => ask(operation, { path: join(`${n}`, path), ...rest }),
      }),
  ),
)
