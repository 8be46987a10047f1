// --report: what is said goes to a descriptor, an object a line, and nobody waits for its reader.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'
import { obstacle, RUN } from './served.ts'

/** A program under `run`, and what it reports by its descriptor 3. */
function reporting(options: readonly string[], ...program: string[]) {
  const { child, report } = typing(options, ...program)
  child.stdin?.end()
  return { child, report }
}

function typing(options: readonly string[], ...program: string[]) {
  const child = spawn(RUN, ['--report', '3', ...options, '--', ...program], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, report: child.stdio[3] as Readable }
}

const objects = (lines: string) =>
  lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe.skipIf(obstacle !== '')(`--report${obstacle && ` (${obstacle})`}`, () => {
  const load = compile('run_load')

  test('the program, and each watch with its number', async () => {
    const place = scratch()
    const { child, report } = reporting(['--all'], load, 'cycles', place, '2')
    const [said, reported] = await Promise.all([text(child.stderr as Readable), text(report)])
    expect(said).toBe('')
    const pid = expect.any(Number)
    expect(objects(reported)).toEqual([
      { event: 'start', pid },
      { event: 'watch', pid, path: place, wd: 1, source: 'poll' },
      { event: 'watch', pid, path: place, wd: 2, source: 'poll' },
    ])
  })

  test('where the kernel answers no number is known; a path that is not there is no watch', async () => {
    const place = scratch()
    const { report } = reporting([], load, 'cycles', place, '1')
    expect(objects(await text(report)).slice(1)).toEqual([
      { event: 'watch', pid: expect.any(Number), path: place, source: 'inotify' },
    ])
    const failing = reporting([], load, 'cycles', join(place, 'none'), '1')
    expect(objects(await text(failing.report))).toHaveLength(1)
  })

  test('a sentence, and the program does not have the descriptor', async () => {
    const { child, report } = reporting([], 'no-such-program')
    expect(objects(await text(report)).slice(1)).toEqual([
      { event: 'error', message: 'no-such-program: ENOENT: it is not found' },
    ])
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(127)
    const looking = reporting([], 'sh', '-c', 'test -e /proc/$$/fd/3 || echo none')
    expect(await text(looking.child.stdout as Readable)).toBe('none\n')
  })

  test('a reader that does not read holds up nobody, and hears how much it has missed', async () => {
    const again = '"$0" cycles "$1" 1 </dev/null >&2'
    const script = `"$0" cycles "$1" 2000 </dev/null >&2; echo done; while read x; do ${again}; done`
    const { child, report } = typing(['--all'], 'sh', '-c', script, load, scratch())
    expect(await once(child.stdout as Readable, 'data')).toEqual([Buffer.from('done\n')])
    let reported = ''
    report.setEncoding('utf8').on('data', (some) => (reported += some))
    let more = 0
    // Until there is room again, and the next line finds it.
    await expect
      .poll(() => {
        child.stdin?.write('\n')
        more++
        return reported
      })
      .toContain('"dropped"')
    child.stdin?.end()
    await once(report, 'end')
    const [watches, dropped] = ['watch', 'dropped'].map((name) =>
      objects(reported).filter(({ event }) => event === name),
    )
    const missed = dropped?.reduce((sum, { lines }) => sum + lines, 0)
    expect(missed).toBeGreaterThan(1000)
    expect((watches?.length ?? 0) + missed).toBe(2000 + more)
  })

  test('a descriptor that is none: 2', async () => {
    const child = spawn(RUN, ['--report', '9', '--', 'true'], { stdio: ['ignore', 'ignore', 'pipe'] })
    expect(await text(child.stderr as Readable)).toContain('--report takes an open descriptor, and not 9')
  })
})
