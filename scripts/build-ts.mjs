// Makes of src/ what is shipped, in dist/: a few files, since Node takes longer to find and link two hundred modules than to run what is in them; and the
// declarations. In out/ each module has a file of its own, for tests that start a process with what is not public.
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const root = join(import.meta.dirname, '..')
const [out, dist] = [join(root, 'out'), join(root, 'dist')]

// What was made of a module that is no more would be shipped.
for (const made of [out, dist]) rmSync(made, { recursive: true, force: true })
const tsc = join(root, 'node_modules/.bin/tsc')
const { status, error } = spawnSync(tsc, ['-p', join(root, 'tsconfig.json')], { stdio: 'inherit' })
if (error !== undefined)
  process.stderr.write(`inotify-bridge: ${tsc} cannot be run: ${error.message} (npm ci)\n`)
if (status !== 0) process.exit(status ?? 1)

// All lie beside each other: what starts another process finds its file there, in dist/ as in out/.
const entries = { index: 'index.ts', cli: 'cli/main.ts', examiner_child: 'cli/diagnose/examiner_child.ts' }
const bundle = await rolldown({
  input: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(root, 'src', file)])),
  platform: 'node',
  // As tsconfig.json has it.
  transform: { target: 'es2023' },
  external: ['bindings', '@kubernetes/client-node'],
})
// Named after one of the modules in it, as is the rule, a stack trace would tell of the reloader where watch() is.
await bundle.write({ dir: dist, format: 'esm', chunkFileNames: 'shared.js', sourcemap: true })
await bundle.close()
for (const file of readdirSync(out, { recursive: true, encoding: 'utf8' }))
  if (file.endsWith('.d.ts')) cpSync(join(out, file), join(dist, file))
