// NODE_OPTIONS="--import inotify-bridge/register": fs.watch() of unchanged programs is that of
// inotify-bridge/fs. On real silent mounts: test/examples/dev_servers.test.ts.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { mayRefuse, refused } from '../support/refused.ts'
import { scratch } from '../support/scratch.ts'

const ROOT = join(import.meta.dirname, '../..')
const REGISTER = join(ROOT, 'dist/register.js')
const WAYS = join(import.meta.dirname, 'ways.mjs')

/** Has told of a change, and then ends by itself, as nothing else keeps it. */
const HEARS = `const fs = require('node:fs')
  const directory = process.argv[1]
  const watcher = fs.watch(directory, { persistent: true }, (type, name) => {
    clearInterval(writing)
    console.log(type, name)
    watcher.close()
  })
  let count = 0
  const writing = setInterval(() => fs.writeFileSync(directory + '/file' + count++, ''), 100)`

/** Prints what each of some wrong calls throws. */
const WRONG = `const fs = require('node:fs')
  const wrong = [[], [1], ['a\\0b'], ['/', { encoding: 'none' }], ['/', { recursive: 1 }], ['/', { signal: {} }]]
  const print = ({ name, code, message }) => console.log(name, code, message)
  for (const args of wrong) try { fs.watch(...args).close() } catch (error) { print(error) }
  const options = [{ encoding: 'none' }, { persistent: 1 }, { signal: {} }]
  ;(async () => {
    for (const each of options) try { for await (const _ of fs.promises.watch('/', each)) break } catch (error) { print(error) }
  })()`

/** Runs a program with these NODE_OPTIONS, as it is without them where there are none. */
async function run(options: string, words: string[], cwd = scratch()) {
  const env = { ...process.env, NODE_OPTIONS: options }
  return await promisify(execFile)(process.execPath, words, { cwd, env, timeout: 60_000 })
}

describe.skipIf(!existsSync(REGISTER))('needs dist', () => {
  test('by import and require, in workers and children, as soon as it is in NODE_OPTIONS', async () => {
    const cwd = scratch()
    mkdirSync(join(cwd, 'node_modules'))
    symlinkSync(ROOT, join(cwd, 'node_modules/inotify-bridge'))
    for (const [options, isOurs] of [
      ['--import inotify-bridge/register', true],
      ['', false],
    ] as const) {
      const { stdout, stderr } = await run(options, [WAYS], cwd)
      const { ways, found }: { ways: string[]; found: Record<string, string[]> } = JSON.parse(stdout)
      expect(Object.keys(found)).toHaveLength(6)
      for (const [place, ours] of Object.entries(found)) expect(ours, place).toEqual(isOurs ? ways : [])
      expect(stderr).toBe('')
    }
  })

  test('until a program watches something, nothing else is loaded', async () => {
    const other = join(scratch(), 'other.mjs')
    writeFileSync(other, `import fs from 'node:fs'; import 'node:module'; fs.promises`)
    const [none, registered] = await Promise.all(
      [other, REGISTER].map((file) =>
        run(`--import ${file}`, ['-e', 'console.log(process.moduleLoadList.join())']),
      ),
    )
    expect(registered?.stdout).toBe(none?.stdout)
  })

  test.each([
    ['itself', `--import ${REGISTER}`, ''],
    ['twice, of two copies', 'copies', ''],
    [
      'where the program imports inotify-bridge/fs before',
      `--import ${REGISTER}`,
      `import('${join(ROOT, 'dist/fs.js')}').then(() => {`,
    ],
  ])('wrong arguments: %s, it says what Node says', async (_, options, before) => {
    const copy = scratch()
    cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true })
    for (const name of ['package.json', 'build', 'node_modules'])
      symlinkSync(join(ROOT, name), join(copy, name))
    const both = `--import ${REGISTER} --import ${join(copy, 'dist/register.js')}`
    const script = before === '' ? WRONG : `${before}${WRONG}})`
    const said = await run(options === 'copies' ? both : options, ['-e', script])
    expect(said).toEqual(await run('', ['-e', WRONG]))
    expect(said.stdout.split('\n')).toHaveLength(10)
  })

  test.each([
    ['the addon is missing', '', true],
    ['addons are forbidden', '--no-addons', false],
    ['modules cannot be required', '--no-experimental-require-module', false],
  ])('%s: the program starts, and watches as Node does, with one warning', async (_, option, isCopied) => {
    const copy = scratch()
    if (isCopied) {
      cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true })
      writeFileSync(join(copy, 'package.json'), '{ "name": "inotify-bridge", "type": "module" }')
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    }
    const register = isCopied ? join(copy, 'dist/register.js') : REGISTER
    const twice = `require('node:fs').watch('/').close();${HEARS}`
    const { stdout, stderr } = await run(`--import ${register} ${option}`, ['-e', twice, scratch()])
    expect(stdout).toMatch(/^rename file\d+\n$/)
    expect(
      stderr.match(/\[INOTIFY_BRIDGE_REGISTER\] InotifyBridgeWarning: fs\.watch\(\) stays Node's own/g),
    ).toHaveLength(1)
    // A program that watches nothing is not warned.
    expect((await run(`--import ${register} ${option}`, ['-e', '1'])).stderr).toBe('')
  })

  test.skipIf(!mayRefuse)('inotify is refused: the program hears of changes all the same', async () => {
    const program = ['--import', REGISTER, '-e', HEARS, scratch()]
    expect(await refused('EPERM', 'inotify_init1,inotify_add_watch', ...program)).toMatch(/^(rename|change) /)
  })

  test('a watcher keeps the process, or not, as it is asked to', async () => {
    const script = `const fs = require('node:fs')
      process.on('exit', () => console.log('ended'))
      fs.watch('.', { persistent: false })
      const watcher = fs.watch('.')
      setTimeout(() => console.log('kept'), 50).unref()
      setTimeout(() => watcher.close(), 100).unref()`
    expect((await run(`--import ${REGISTER}`, ['-e', script])).stdout).toBe('kept\nended\n')
  })
})
