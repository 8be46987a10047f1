// Gets Node's modules in the shipped files without loading more than needed. An import of one function of
// node:fs reads all exports of fs, and so loads fs.promises as well: 3 ms and 2 MiB in Node 20 for unused code.
// process.getBuiltinModule() does not. Modules that take long to load are loaded at the first call:
// node:crypto takes 3 ms and 2 MiB, as long as parsing all other needed code of this package.
const HAD_WHEN_CALLED = new Set([
  'node:child_process',
  'node:crypto',
  'node:fs/promises',
  'node:net',
  'node:stream',
  'node:stream/consumers',
  'node:timers/promises',
])

// Functions that make Node load a module when the property is read.
const LOADED_WHEN_READ = new Set(['node:util parseArgs'])

const GETTER = 'builtin-module'

// Node 21, and 22 before 22.3, lack process.getBuiltinModule().
const GET = `import { createRequire } from 'node:module'
export const get = process.getBuiltinModule ?? ((name) => createRequire(import.meta.url)(name))`

/** @returns {import('rolldown').Plugin} */
export function builtinModules() {
  return {
    name: 'builtin-modules',
    resolveId(source, importer, { kind }) {
      if (source === GETTER) return `\0${GETTER}`
      if (!source.startsWith('node:')) return null
      // A dynamic import loads its module late in any case, the getter itself needs a real import, and
      // register.js must load no other file.
      const isItself =
        kind === 'dynamic-import' || importer === `\0${GETTER}` || importer?.endsWith('/entries/register.ts')
      return isItself ? { id: source, external: true } : `\0${source}`
    },
    load(id) {
      if (id === `\0${GETTER}`) return GET
      if (!id.startsWith('\0node:')) return null
      const name = id.slice(1)
      return { code: HAD_WHEN_CALLED.has(name) ? whenCalled(name) : atOnce(name), moduleSideEffects: false }
    },
  }
}

/** @param {string} name */
function atOnce(name) {
  const keys = Object.keys(process.getBuiltinModule(name) ?? {})
  // The bundler leaves unused exports out, so that their properties are not read.
  return [
    `import { get } from '${GETTER}'`,
    `const builtin = get('${name}')`,
    'export default builtin',
    ...keys.map((key) =>
      LOADED_WHEN_READ.has(`${name} ${key}`) ? wrapper(name, key) : `export const ${key} = builtin.${key}`,
    ),
  ].join('\n')
}

/** @param {string} name */
function whenCalled(name) {
  // Classes are left out, because a wrapper cannot be called with `new`. The bundler reports an import of one
  // as not exported.
  const functions = Object.entries(process.getBuiltinModule(name) ?? {}).filter(
    ([key, value]) => typeof value === 'function' && /^[a-z]/.test(key),
  )
  return [`import { get } from '${GETTER}'`, ...functions.map(([key]) => wrapper(name, key))].join('\n')
}

/**
 * @param {string} name
 * @param {string} key
 */
function wrapper(name, key) {
  return `export const ${key} = (...args) => get('${name}').${key}(...args)`
}
