// node --import THIS FILE.ts: runs TypeScript without a test runner, for runs of hours. Node 20 does not read
// TypeScript.
import { readFile } from 'node:fs/promises'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { transform } from 'esbuild'

// The hooks have a thread of their own, which loads this file as well.
if (isMainThread) register(import.meta.url)

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return await nextLoad(url, context)
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), {
    loader: 'ts',
    target: 'node20',
    sourcefile: url,
  })
  return { format: 'module', source: code, shortCircuit: true }
}
