// Starts main.ts, or with `programs` as the first argument programs.ts, in namespaces of its own where they can be had: there it may mount, and lower its limits.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'

const apart = ['unshare', '-rm']
const isApart = spawnSync('unshare', ['-rm', 'true']).status === 0
const typescript = join(import.meta.dirname, '../support/typescript.mjs')
const words = process.argv.slice(2)
const main = words[0] === 'programs' ? `${words.shift()}.ts` : 'main.ts'
const program = [
  process.execPath,
  ...['--expose-gc', '--no-warnings', '--import', typescript, join(import.meta.dirname, main)],
  ...words,
]
const [file = '', ...args] = isApart ? [...apart, ...program] : program
// A Ctrl-C is for that alone, and not for those that it has started: they are not in the terminal's group.
const child = spawn(file, args, {
  stdio: 'inherit',
  detached: true,
  env: { ...process.env, SOAK_APART: isApart ? 'yes' : 'no' },
})
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
