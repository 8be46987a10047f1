// unshare -U -r node user_namespace.mjs DIRECTORY WATCHES INSTANCES: sets the limits of its user namespace.
// Prints as JSON the hints of callers that meet the limits, and the answer of diagnose().
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , base = '', watches = '', instances = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/index.ts')} */
const { diagnose, Inotify, watch } = await import(join(import.meta.dirname, '../../dist/index.js'))
writeFileSync('/proc/sys/user/max_inotify_watches', watches)
writeFileSync('/proc/sys/user/max_inotify_instances', instances)
for (let i = 0; i < 20; i++) mkdirSync(join(base, `${i}`))
/** @type {Record<string, unknown>} */
const said = {}
const opened = []
try {
  const watcher = watch(base, { recursive: true })
  opened.push(watcher)
  const [error] = await once(watcher, 'error')
  said[error.code] = error.hint
  for (;;) opened.push(new Inotify())
} catch (error) {
  const { code, hint } = /** @type {import('../../src/index.ts').InotifyError} */ (error)
  said[code] = hint
}
const { limits, advice } = await diagnose(base)
said.limits = limits
said.advice = advice
for (const each of opened) await each.close()
console.log(JSON.stringify(said))
