// How the modules of Node are had in what is shipped. `import { readFileSync } from 'node:fs'` reads all that fs has, fs.promises too, and that is
// loaded then: 3 ms and 2 MiB in Node 20 for what is not used; process.getBuiltinModule() does not. What takes long to load is had at the
// first call: node:crypto takes 3 ms and 2 MiB, as long as all the parsing of this package that is needed beside it.
const HAD_WHEN_CALLED = new Set([
  'node:child_process',
  'node:crypto',
  'node:fs/promises',
  'node:net',
  'node:stream',
  'node:stream/consumers',
  'node:timers/promises',
])

// Functions that Node loads a module for when the property is read.
const LOADED_WHEN_READ = new Set(['node:util parseArgs'])

const GETTER = 'builtin-module'

// Node 21, and 22 before 22.3, have only what came before it.
const GET = `import { createRequire } from 'node:module'
export const get = process.getBuiltinModule ?? ((name) => createRequire(import.meta.url)(name))`

/** @returns {import('rolldown').Plugin} */
export function builtinModules() {
  return {
    name: 'builtin-modules',
    resolveId(source, importer, { kind }) {
      if (source === GETTER) return `\0${GETTER}`
      if (!source.startsWith('node:')) return null
      // What is imported where it is used is loaded then in any case, and of the getter's own this one is the source. And register.js is to load no other file.
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
  // What nobody imports is left out, and so not read.
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
  // But for classes, which are not called: the bundler says of one that it is not exported.
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
