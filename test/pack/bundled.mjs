// bundled.mjs BUNDLER FORMAT DIRECTORY: has a bundler make DIRECTORY/made/entry.js (or .cjs) of DIRECTORY/entry.mjs, as its own documentation has it for Node.
import { join } from 'node:path'
import { promisify } from 'node:util'

const [bundler, format, directory = ''] = process.argv.slice(2)
const [entry, made] = [join(directory, 'entry.mjs'), join(directory, 'made')]
const name = format === 'cjs' ? 'entry.cjs' : 'entry.mjs'

if (bundler === 'esbuild') {
  const { build } = await import('esbuild')
  /** @type {import('esbuild').BuildOptions} */
  const settings = { bundle: true, minify: true, platform: 'node', logLevel: 'error', target: 'node20' }
  await build({
    ...settings,
    format: format === 'cjs' ? 'cjs' : 'esm',
    entryPoints: [entry],
    outfile: join(made, name),
  })
}

if (bundler === 'rollup') {
  const { rollup } = await import('rollup')
  const { nodeResolve } = await import('@rollup/plugin-node-resolve')
  const bundle = await rollup({ input: entry, plugins: [nodeResolve()], external: [/^node:/] })
  await bundle.write({
    dir: made,
    format: format === 'cjs' ? 'cjs' : 'es',
    entryFileNames: name,
    chunkFileNames: `[name].${format === 'cjs' ? 'cjs' : 'mjs'}`,
  })
}

if (bundler === 'webpack') {
  const { default: webpack } = await import('webpack')
  const isModule = format !== 'cjs'
  const output = isModule ? { module: true, chunkFormat: 'module', library: { type: 'module' } } : {}
  const compiler = webpack({
    mode: 'production',
    target: 'node20',
    context: directory,
    entry,
    experiments: { outputModule: isModule },
    output: { path: made, filename: name, ...output },
  })
  const stats = await promisify(compiler.run.bind(compiler))()
  if (stats?.hasErrors()) throw new Error(stats.toString())
}
