// Builds dist/ from src/ for the package: a few files, since Node takes longer to find and link two hundred
// modules than to run them, and the declarations. In out/ each module has a file of its own, for tests that
// start a process with private modules.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { builtinModules } from './builtin_modules.mjs'

const root = join(import.meta.dirname, '..')
const [out, dist] = [join(root, 'out'), join(root, 'dist')]

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

// Removes old files: those of a deleted module would be shipped.
for (const made of [out, dist]) rmSync(made, { recursive: true, force: true })
const tsc = join(root, 'node_modules/.bin/tsc')
const { status, error } = spawnSync(tsc, ['-p', join(root, 'tsconfig.json')], { stdio: 'inherit' })
if (error !== undefined)
  process.stderr.write(`inotify-bridge: ${tsc} cannot be run: ${error.message} (npm ci)\n`)
if (status !== 0) process.exit(status ?? 1)

// All entry points lie beside each other: code that starts another process finds that process's file there,
// in dist/ as in out/.
const namesIn = (/** @type {string} */ folder) =>
  readdirSync(join(root, 'src', folder)).map((file) => basename(file, '.ts'))
const entryPoints = namesIn('entries')
const entries = {
  ...Object.fromEntries(entryPoints.map((name) => [name, `entries/${name}.ts`])),
  // Their declarations are those of src/entries: no declaration says that a class is one of two.
  ...Object.fromEntries(namesIn('drop_ins').map((name) => [name, `drop_ins/${name}.ts`])),
  index: 'index.ts',
  cli: 'cli/main.ts',
  examiner_child: 'cli/diagnose/examiner_child.ts',
  // inotify-bridge/register requires this file.
  fs_functions: 'fs/functions.ts',
}

/**
 * The parts that are loaded together, each as small as possible. A program finds each class once, whichever
 * entry point it came from: an InotifyError of `inotify-bridge/inotify` is one of `inotify-bridge`.
 */
const PARTS = {
  base: inAnyOf(
    /^\0/,
    /^src\/(?!index)[^/]*\.ts$/,
    /^src\/volume\/layout\.ts$/,
    /^src\/relay\/address\.ts$/,
    /^src\/inotify\//,
    /^src\/entries\/inotify\.ts$/,
  ),
  // The public functions of parts that are loaded at the first call. They are apart from the base, so that a
  // bundle of the base has none of those parts.
  faces: inAnyOf(
    /^src\/publish\/(publish|arguments|directory\/keys)\.ts$/,
    /^src\/mirror\/(mirror|events|options)\.ts$/,
    /^src\/mounts\/diagnose\.ts$/,
    /^src\/entries\/(diagnose|mirror|publish)\.ts$/,
  ),
  // Not functions.ts, which loads the addon.
  fs: inAnyOf(/^src\/fs\/(?!functions)/, /^src\/entries\/fs(_promises)?\.ts$/),
  run: inAnyOf(/^src\/run\//, /^src\/entries\/run\.ts$/),
  parcel: inAnyOf(/^src\/parcel\//, /^src\/entries\/parcel\.ts$/),
  chokidar: inAnyOf(/^src\/chokidar\//, /^src\/entries\/chokidar\.ts$/),
  // The public side of watch() and of the parts that use it. The engine is loaded apart.
  watcher: inAnyOf(
    /^src\/watch\/(watcher|calls|engine_part|options|ignores|glob|surface)\.ts$/,
    /^src\/watch\/gitignore\//,
    /^src\/watch\/report\/(change|mistakes|next_change|subscribers|watch_error)\.ts$/,
  ),
  diagnosis: inAnyOf(/^src\/mounts\/diagnosis\//),
  // And what is loaded with them, by watchers and mirrors alike.
  mounts: inAnyOf(/^src\/(mounts|volume)\//, /^src\/relay\/(relay_client|frames)\.ts$/),
  engine: inAnyOf(/^src\/watch\//, /^src\/entries\/watch\.ts$/),
  mirror: inAnyOf(/^src\/mirror\//),
  // The replacing of a file, which a saving watcher does as well.
  replace: inAnyOf(/^src\/publish\/(replace_file|failure|draft\/.*)\.ts$/),
  publish: inAnyOf(/^src\/publish\//),
  // The modules that a reloader loads when it starts.
  work: inAnyOf(/^src\/reload\/(work|content_reader|actions\/(?!process_stat).*)\.ts$/),
  reload: inAnyOf(/^src\/reload\//, /^src\/entries\/reload\.ts$/),
}

// Stands for the name of the engine's file, until that name is known: see src/watch/engine_part.ts.
const ENGINE = 'inotify-bridge:engine'

const bundle = await rolldown({
  input: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(root, 'src', file)])),
  platform: 'node',
  plugins: [builtinModules()],
  treeshake: { propertyReadSideEffects: false },
  preserveEntrySignatures: 'allow-extension',
  transform: {
    // The same as in tsconfig.json.
    target: 'es2023',
    // See src/compiled.ts.
    define: {
      INOTIFY_BRIDGE_VERSION: JSON.stringify(version),
      INOTIFY_BRIDGE_ENGINE: JSON.stringify(ENGINE),
    },
  },
  external: ['bindings'],
})
const { output } = await bundle.write({
  dir: dist,
  format: 'esm',
  // The hash keeps a running process from loading a part of another version, while the package is replaced.
  chunkFileNames: ({ facadeModuleId, name }) =>
    facadeModuleId?.includes('/src/cli/') ? `cli_${name}-[hash].part.js` : `${name}-[hash].part.js`,
  // Removes comments, which Node would have to read at each import. Lines and names stay, for readers of a
  // stack trace. There are no source maps for that reason: src/ is not shipped, and maps with its text are
  // twice as large as all other files.
  comments: { annotation: true, jsdoc: false, legal: false },
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: Object.entries(PARTS).map(([name, test]) => ({ name, test })),
  },
})
await bundle.close()
const engine = output.find(
  (part) => part.type === 'chunk' && part.facadeModuleId === join(root, 'src/watch/open_engine.ts'),
)
if (engine === undefined) throw new Error('src/watch/open_engine.ts has no file of its own')
// V8 keeps and reads a file with two bytes for each character if one character in a string is beyond Latin-1.
for (const file of readdirSync(dist).filter((name) => name.endsWith('.js'))) {
  const text = readFileSync(join(dist, file), 'utf8')
  const ascii = text
    .replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(ENGINE, `./${engine.fileName}`)
  if (ascii !== text) writeFileSync(join(dist, file), ascii)
}
// npx links to this file in the repository too, and makes the file executable only once.
chmodSync(join(dist, 'cli.js'), 0o755)
// TypeScript looks for a declaration beside its JavaScript.
for (const name of entryPoints) {
  const hasDefault = readFileSync(join(out, `entries/${name}.d.ts`), 'utf8').includes('export default')
  const others = hasDefault ? `export { default } from './entries/${name}.js'\n` : ''
  writeFileSync(join(dist, `${name}.d.ts`), `export * from './entries/${name}.js'\n${others}`)
}
for (const file of declarations(['index.d.ts', ...entryPoints.map((name) => `entries/${name}.d.ts`)]))
  cpSync(join(out, file), join(dist, file))

await import('./man.mjs')
await import('./completions.mjs')

/**
 * Returns these declarations and those that they refer to: a user's compiler reads these. The others are two
 * thirds.
 * @param {string[]} files
 */
function declarations(files) {
  const found = new Set(files)
  for (const file of found)
    for (const [, other = ''] of readFileSync(join(out, file), 'utf8').matchAll(/["'](\.[^"']*)\.[jt]s["']/g))
      found.add(`${join(dirname(file), other)}.d.ts`)
  return found
}

/**
 * Returns a function that tells if a module is in any of these places.
 * @param {RegExp[]} places
 */
function inAnyOf(...places) {
  return (/** @type {string} */ id) =>
    places.some((place) => place.test(id.startsWith('\0') ? id : relative(root, id)))
}
