// The completions and the manual page know each command and each of its options, as --help does, and the programs that read them take them.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { helpOf } from '../../src/cli/shared/help.ts'
import { expectRightUsage, ownCommandsIn } from '../docs/command_lines.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Run } from './command.ts'

const has = (program: string) => spawnSync(program, ['--version']).error === undefined

/** The script for a shell, in a file. */
async function scriptFor(shell: string): Promise<string> {
  const { code, stdout, stderr } = await new Run(['completion', shell]).ended()
  expect([code, stderr]).toEqual([0, ''])
  const file = join(scratch(), '_inotify-bridge')
  writeFileSync(file, stdout)
  return file
}

const commands = await Promise.all(
  [...COMMANDS].map(async ([name, load]) => ({ name, command: await load() })),
)

test.each(commands)(
  '$name --help has each option, and three lines of examples',
  async ({ name, command }) => {
    const help = helpOf(name, command)
    for (const [option, { argument = '' }] of Object.entries(command.options))
      expect(help).toContain(`--${option}${argument && ` ${argument}`}  `)
    const [, examples = ''] = help.split('\nExamples:\n')
    expect(examples.trim().split('\n')).toHaveLength(3)
    for (const line of examples.trim().split('\n')) expect(line).toContain(name)
    // A redirection is the shell's, and npx and node come to the same.
    for (const line of examples.split('\n'))
      for (const words of ownCommandsIn(
        line.replace(/ >.*|.*npx |.*(?=node )/, '').replace(/node \S+cli.js/, 'inotify-bridge'),
      ))
        await expectRightUsage(words)
    for (const line of help.split('\n')) expect(line.length, line).toBeLessThanOrEqual(142)
  },
)

describe.skipIf(!has('bash'))('bash (needs bash)', () => {
  async function completed(...words: string[]): Promise<string[]> {
    const script = `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _inotify_bridge; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', script, await scriptFor('bash'), ...words], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    return stdout.split('\n').filter((line) => line !== '')
  }

  test('commands, and those that begin so', async () => {
    expect(await completed('inotify-bridge', '')).toEqual([...COMMANDS.keys(), '--help', '--version'])
    expect(await completed('inotify-bridge', 'di')).toEqual(['diagnose'])
  })

  test.each(commands)('$name: its options alone', async ({ name, command }) => {
    const expected = Object.keys(command.options).map((option) => `--${option}`)
    expect(await completed('inotify-bridge', name, '--')).toEqual([...expected, '--help'])
    // Paths are completed by the shell itself.
    expect(await completed('inotify-bridge', name, '/et')).toEqual([])
  })
})

test.skipIf(!has('zsh'))('zsh takes it, with each option (needs zsh)', async () => {
  const file = await scriptFor('zsh')
  expect(spawnSync('zsh', ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  // A stub of _arguments prints its arguments: they stand for what zsh would show.
  const script = `compdef() { :; }; . "$1"; _arguments() { print -rl -- "$@"; }; words=(inotify-bridge "$2" ''); CURRENT=3; _inotify_bridge`
  for (const { name, command } of commands) {
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', script, 'zsh', file, name], { encoding: 'utf8' })
    expect(stderr).toBe('')
    for (const option of Object.keys(command.options)) expect(stdout).toContain(`*--${option}[`)
  }
})

test.skipIf(!has('fish'))('fish completes commands and options (needs fish)', async () => {
  const file = await scriptFor('fish')
  const complete = (line: string) => {
    const script = `source ${file}; complete -C '${line}'`
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', script], { encoding: 'utf8' })
    expect(stderr).toBe('')
    return stdout.split('\n').map((each) => each.split('\t')[0])
  }
  for (const { name, command } of commands) {
    expect(complete('inotify-bridge ')).toContain(name)
    const options = complete(`inotify-bridge ${name} --`)
    for (const option of Object.keys(command.options)) expect(options).toContain(`--${option}`)
  }
})

test.each([[[]], [['tcsh']], [['bash', 'zsh']]])('completion %j: wrong usage', async (args) => {
  const { code, stderr } = await new Run(['completion', ...args]).ended()
  expect([code, stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish')])
})

const page = join(MAIN, '../../man/inotify-bridge.1')

describe.skipIf(!existsSync(page))('the manual page (needs dist)', () => {
  test('is where package.json says, and has each command, option and example', () => {
    const manifest = JSON.parse(readFileSync(join(MAIN, '../../package.json'), 'utf8'))
    expect(manifest.man).toBe('./man/inotify-bridge.1')
    expect(manifest.files).toContain('man')
    const text = readFileSync(page, 'utf8').replaceAll('\\-', '-').replaceAll('\\e', '\\')
    for (const { name, command } of commands) {
      expect(text).toContain(`\n.SH ${name.toUpperCase()}\n`)
      expect(text).toContain(command.summary)
      for (const option of Object.keys(command.options)) expect(text).toContain(`\\fB--${option}\\fR`)
      for (const example of command.examples) expect(text).toContain(example)
    }
  })

  test.skipIf(!has('man'))('is shown without a warning (needs man)', () => {
    const { status, stdout, stderr } = spawnSync('man', ['--warnings', '-l', page], {
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '100', LC_ALL: 'C.UTF-8' },
    })
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain('--over-limit MODE')
  })
})
