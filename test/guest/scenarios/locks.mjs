// A target on the mount: what a second mirror of it comes to while the first runs, and behind that.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { library, memory, report, share } from './host.mjs'

const source = memory('source')
mkdirSync(source, { recursive: true })
writeFileSync(join(source, 'key'), '1')
const target = join(share, 'target')
const begin = () => library.mirror(source, target, { interval: 60_000, quiet: 5 })

const first = await begin()
const second = await begin().then(
  async (mirror) => {
    await mirror.close()
    return 'began'
  },
  (error) => error.code,
)
await first.close({ keep: true })
const third = await begin()
await third.close()
report({ second })
