// stdout, stderr or both are on a full disk, or on a pipe whose reader goes away: what is a log is no condition of the work.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN } from './command.ts'

const PATIENCE = { timeout: 30_000, interval: 10 }

type Output = 'full' | 'closed' | 'read'

/** Runs the command with these for stdout and stderr; 'closed': its reader goes away, at once or when it has read something. */
function run(args: string[], cwd: string, [out, err]: readonly [Output, Output], later = false) {
  const full = openSync('/dev/full', 'w')
  const stdio = [out, err].map((each) => (each === 'full' ? full : ('pipe' as const)))
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, stdio: ['ignore', ...stdio] })
  closeSync(full)
  const said = { out: '', err: '' }
  const follow = (stream: typeof child.stdout, kind: Output, name: 'out' | 'err') => {
    if (kind === 'closed' && !later) stream?.destroy()
    stream?.on('data', (text) => {
      said[name] += text
      if (kind === 'closed') stream.destroy()
    })
  }
  follow(child.stdout, out, 'out')
  follow(child.stderr, err, 'err')
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, said, ended: once(child, 'close').then(([code]) => code) }
}

const content = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
const ways = [
  ['full', 'read', false],
  ['full', 'full', false],
  ['closed', 'read', true],
  ['closed', 'closed', true],
  ['read', 'full', false],
] as const
const played = ways.filter((_, n) => isLong || n === 0 || n === 3)

describe.skipIf(!existsSync(MAIN)).each(played)(
  'stdout %s, stderr %s, later: %s (needs dist)',
  (out, err, later) => {
    test.each([
      ['mirror', ['mirror', '--interval', '20', 'source', 'target'], 'target/a'],
      ['mirror --json', ['mirror', '--json', '--interval', '20', 'source', 'target'], 'target/a'],
      ['reload', ['reload', '--delay', '20', 'source', '--', 'cp', 'source/a', 'copy'], 'copy'],
      [
        'reload --json',
        ['reload', '--json', '--delay', '20', 'source', '--', 'cp', 'source/a', 'copy'],
        'copy',
      ],
    ])('%s goes on', async (_, args, target) => {
      const cwd = scratch('/dev/shm')
      writeIn(cwd, '0')
      const ran = run(args, cwd, [out, err], later)
      // reload: what is there at the start is in use.
      for (let n = 1; n <= 2; n++) {
        let tries = 0
        const isThere = () => {
          if (tries++ % 50 === 0) writeIn(cwd, `${n}${' '.repeat(tries)}`)
          return content(join(cwd, target))?.trim()
        }
        await expect.poll(isThere, PATIENCE).toBe(`${n}`)
      }
      const mention =
        /^[^\n]*stdout cannot be written \((ENOSPC|EPIPE)\): the work goes on without it("})?\n([^\n]*longer than the interval("})?\n)*$/
      // The line that cannot be written follows the work.
      if (err === 'read') await expect.poll(() => ran.said.err, PATIENCE).toMatch(mention)
      ran.child.kill('SIGTERM')
      expect(await ran.ended).toBe(0)
      if (err === 'read') expect(ran.said.err, 'said once').toMatch(mention)
    })

    test.each([
      ['publish', ['publish', 'source/a', 'source/b', 'made'], 'made/b'],
      ['publish --configmap', ['publish', '--json', '--configmap', 'source/a', 'source/b', 'made'], 'made/b'],
      ['mirror --once', ['mirror', '--once', 'source', 'target'], 'target/b'],
      ['reload --once', ['reload', '--once', 'source', '--', 'cp', 'source/b', 'copy'], 'copy'],
    ])('%s does its work', async (_, args, target) => {
      const cwd = scratch('/dev/shm')
      writeIn(cwd, '0', 'a', 'b')
      mkdirSync(join(cwd, 'made'))
      expect(await run(args, cwd, [out, err], later).ended).toBe(0)
      expect(content(join(cwd, target))).toBe('0')
    })

    test.each([
      ['watch', ['watch', '-q', '--initial', 'source']],
      ['watch --json', ['watch', '-q', '-m', '--json', '--initial', 'source']],
      ['diagnose', ['diagnose', 'source']],
      ['--help', ['watch', '--help']],
    ])('%s ends: what it prints is what it is run for', async (_, args) => {
      const cwd = scratch('/dev/shm')
      writeIn(cwd, '0', 'a', 'b')
      if (out === 'read') return
      const { said, ended } = run(args, cwd, [out, err], later)
      if (later && out === 'closed') {
        await expect.poll(() => said.out, PATIENCE).not.toBe('')
        writeIn(cwd, '1', 'c')
      }
      expect(await ended).toBe(out === 'full' ? 1 : 0)
      const mentioned = out === 'full' ? /^[^\n]*stdout cannot be written \(ENOSPC\)("})?\n$/ : /^$/
      if (err === 'read') expect(said.err).toMatch(mentioned)
    })
  },
)

function writeIn(cwd: string, text: string, ...names: string[]): void {
  mkdirSync(join(cwd, 'source'), { recursive: true })
  for (const name of names.length > 0 ? names : ['a']) writeFileSync(join(cwd, 'source', name), text)
}
