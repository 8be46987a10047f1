// Calls each function of the package with paths that this user may not read, search or write. Prints the
// errors as JSON.
//
//   node unreadable.mjs DIRECTORY     as root, which becomes another user
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const bridge = await import('../dist/index.js')
const home = process.argv[2] ?? ''
chmodSync(home, 0o755)
/** @type {Record<string, string>} */
const closed = {}
for (const [name, mode] of /** @type {const} */ ([
  ['neither read nor searched', 0o700],
  ['not searched', 0o744],
  ['not read', 0o711],
  ['not written', 0o755],
])) {
  const directory = join(home, name)
  mkdirSync(join(directory, 'sub'), { recursive: true })
  writeFileSync(join(directory, 'f'), 'x')
  chmodSync(directory, mode)
  closed[name] = directory
}
const [good, open] = [join(home, 'good'), join(home, 'open')]
for (const directory of [good, open]) mkdirSync(directory)
writeFileSync(join(good, 'f'), 'x')
chmodSync(open, 0o777)
process.setgid?.(65534)
process.setuid?.(65534)

let count = 0
const free = () => join(open, `${count++}`)
const made = () => {
  const path = free()
  writeFileSync(path, 'x')
  return path
}
/** @param {string | string[]} source @param {string} target */
const mirror = async (source, target) => (await bridge.mirror(source, target)).close()
/** @type {Record<string, (path: string) => unknown>} */
const FUNCTIONS = {
  'mirror from': (path) => mirror(path, free()),
  'mirror from it and another': (path) => mirror([good, path], free()),
  'mirror to': (path) => mirror(good, path),
  replaceFile: (path) => bridge.replaceFile(path, 'x'),
  publishDirectory: (path) => bridge.publishDirectory(path, { a: 'x' }),
  'moveFile from': (path) => bridge.moveFile(path, free()),
  'moveFile to': (path) => bridge.moveFile(made(), path),
  diagnose: (path) => bridge.diagnose(path),
  'Inotify.add': (path) => {
    const inotify = new bridge.Inotify()
    try {
      inotify.add(path, bridge.IN_MODIFY)
    } finally {
      inotify.close()
    }
  },
}
process.on('warning', () => {})
const rejected = []
for (const [name, run] of Object.entries(FUNCTIONS))
  for (const [which, directory] of Object.entries(closed))
    for (const below of ['', '/f', '/sub', '/new', '/new/er'])
      try {
        await run(directory + below)
      } catch (error) {
        const { path, message } = /** @type {import('../dist/index.js').InotifyError} */ (error)
        const isInotifyError = error instanceof bridge.InotifyError
        rejected.push({
          call: `${name} ${which}${below}`,
          isInotifyError,
          hasPath: path !== undefined,
          message,
        })
      }
process.stdout.write(JSON.stringify(rejected))
