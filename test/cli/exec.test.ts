// inotify-bridge exec: the command is run as if it were not there, but for NODE_OPTIONS.
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program, Run } from './command.ts'

const ROOT = join(import.meta.dirname, '../..')
const NODE = process.execPath
/** Prints what Node has made of its options, and whether fs.watch() is this package's: its errors have a hint. */
const TELL = `try { require('fs').watch('/no/such') } catch (error) { console.log(process.title, 'hint' in error) }`

describe.skipIf(!existsSync(MAIN))('needs dist', () => {
  test.each([
    ['none', { NODE_OPTIONS: '' }, `${NODE} true`],
    ['some, with a space in one', { NODE_OPTIONS: '--title="a b" --no-warnings' }, 'a b true'],
    ['a space at the end', { NODE_OPTIONS: '--title=a ' }, 'a true'],
  ])('NODE_OPTIONS: %s before; in any directory', async (_, environment, told) => {
    const run = new Run(['exec', '--', NODE, '-e', TELL], { environment, cwd: scratch() })
    expect(await run.ended()).toEqual({ code: 0, signal: null, stdout: `${told}\n`, stderr: '' })
  })

  test.each([`a "b" 'c'`, 'a%20#?b', 'ä ö'])('the package lies in a directory named %s', async (name) => {
    const copy = join(scratch(), name)
    mkdirSync(copy)
    cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true })
    for (const each of ['package.json', 'build', 'node_modules'])
      symlinkSync(join(ROOT, each), join(copy, each))
    const command = [NODE, '-e', TELL]
    const run = new Program(NODE, [join(copy, 'dist/cli.js'), 'exec', '--', ...command])
    expect(await run.ended()).toMatchObject({ code: 0, stdout: `${NODE} true\n`, stderr: '' })
  })

  test('the command has its arguments, and the same stdin, stdout and stderr', async () => {
    const words = ['--help', '--', '', 'a b', '--json']
    const script = 'printf "%s\\n" "$@"; cat; echo complaint >&2'
    const run = new Run(['exec', '--', 'sh', '-c', script, 'sh', ...words], { input: 'typed\n' })
    expect(await run.ended()).toEqual({
      code: 0,
      signal: null,
      stdout: `${words.join('\n')}\ntyped\n`,
      stderr: 'complaint\n',
    })
  })

  test.each([
    ['exit 7', 7, null],
    ['kill -TERM $$', null, 'SIGTERM'],
    ['kill -KILL $$', null, 'SIGKILL'],
    // A core dump would be this process's: so it exits.
    ['kill -SEGV $$', 128 + 11, null],
  ])('it ends as the command does: %s', async (script, code, signal) => {
    const run = new Run(['exec', '--', 'sh', '-c', script])
    expect(await run.ended()).toMatchObject({ code, signal, stderr: '' })
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)(
    '%s is passed on, and the command decides',
    async (signal) => {
      const script = `setInterval(() => {}, 1000); process.on('${signal}', () => process.exit(5)); console.log('ready')`
      const run = new Run(['exec', '--', NODE, '-e', script])
      await run.until('stdout', /ready/)
      run.kill(signal)
      expect(await run.ended()).toMatchObject({ code: 5, signal: null })
    },
  )

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s is passed on that comes while the command is started',
    async (signal) => {
      const script = `import { passSignals } from ${JSON.stringify(join(ROOT, 'out/cli/shared/run_program.js'))}
        process.on('${signal}', () => process.exit(1)) // As the command has it before.
        process.kill(process.pid, '${signal}')
        passSignals({ kill: () => process.exit(5) }, () => false)
        setTimeout(() => {}, 60_000)`
      const run = new Program(NODE, ['--input-type=module', '-e', script])
      expect(await run.ended()).toMatchObject({ code: 5, signal: null })
    },
  )

  const file = 'file'
  test.each([
    ['no-such-program', 127, /^inotify-bridge exec: 'no-such-program' was not found .*ENOENT.*npx.*\n$/],
    [`./${file}`, 126, /^inotify-bridge exec: '\.\/file' cannot be executed: EACCES: permission denied\n$/],
    ['.', 126, /^inotify-bridge exec: '\.' cannot be executed: EACCES: permission denied\n$/],
  ])('what cannot be run, %s, is one line, and %d as of a shell', async (program, code, said) => {
    const cwd = scratch()
    writeFileSync(join(cwd, file), '')
    const run = new Run(['exec', '--', program], { cwd })
    expect(await run.ended()).toEqual({ code, signal: null, stdout: '', stderr: expect.stringMatching(said) })
  })
})
