// Plays the table of docs/faults.md: each call fails in each way, and the answer must be one of the table's.
// test/native/faults.c makes the calls fail, in a process of its own for each scenario.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, type onTestFinished, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { CONTROL_BYTES } from './control.mjs'

const ROOT = join(import.meta.dirname, '../..')
const isBuilt = existsSync(join(ROOT, 'dist/index.js'))
const ADDON = join(ROOT, 'build/Release/inotify_bridge.node')

interface Row {
  calls: string[]
  errnos: string[]
  /** The words of each cell, by the table's columns. */
  answers: string[][]
}

const SUBJECTS: ReadonlyArray<{ name: string; scenarios: string[] }> = [
  { name: 'Inotify', scenarios: ['inotify'] },
  { name: 'watch()', scenarios: ['watch_auto', 'watch_inotify', 'watch_poll'] },
  { name: 'mirror()', scenarios: ['mirroring'] },
  { name: 'publishing', scenarios: ['replace_file', 'move_file', 'publish_directory'] },
]

/** Quick runs play one row in 6 for each scenario, in turn. */
const SHARE = 6
const ALL = SUBJECTS.flatMap(({ scenarios }) => scenarios)

/** The answers that are as good as an answer of the table: all that demand less of the user. */
const AS_GOOD: Record<string, string[]> = {
  mended: ['goes on', 'made up'],
  told: ['goes on', 'made up', 'told'],
  uncovered: ['goes on', 'made up', 'told', 'uncovered'],
  ends: ['goes on', 'made up', 'told', 'ends'],
  refused: ['goes on', 'made up', 'refused'],
}

const words = (cell: string) => cell.split(',').map((word) => word.trim())
const ROWS: Row[] = readFileSync(join(ROOT, 'docs/faults.md'), 'utf8')
  .split('\n')
  .map((line) => line.split('|').slice(1, -1))
  .filter((cells) => /\bE[A-Z]{2,}\b/.test(cells[1] ?? ''))
  .map(([calls = '', errnos = '', ...answers]) => ({
    calls: words(calls),
    errnos: words(errnos),
    answers: answers.map(words),
  }))

interface Played {
  call: string
  errno: string
  step: 'begin' | 'act'
  answer: string
  failed: number
  errors: string[]
  left: number
}

type Play = [call: string, errno: string, step: 'begin' | 'act', skip: number, most: number]

/**
 * Fails all calls from now on, or a single one of the next. A caller answers EINTR with the same call again,
 * for ever if need be.
 */
const TIMES: ReadonlyArray<[skip: number, most: number]> = [
  [0, 1_000_000],
  [0, 1],
  [1, 1],
  [3, 1],
]
/** All of these ways take half an hour. */
const HAS_ALL_TIMES = process.env.TIMES === 'all'

function playsOf(
  { calls, errnos }: Row,
  made: Record<string, number>,
  steps: Array<'begin' | 'act'>,
): Play[] {
  return calls
    .filter((call) => (made[call] ?? 0) > 0)
    .flatMap((call, i) => {
      const some = isLong ? errnos : [errnos[i % errnos.length] as string]
      return some.flatMap((errno, j) =>
        steps.flatMap((step, k) => {
          const times = HAS_ALL_TIMES
            ? TIMES
            : [TIMES[isLong ? (i + j + k) % TIMES.length : 0] as [number, number]]
          return times.map(([skip, most]): Play => [call, errno, step, skip, errno === 'EINTR' ? 3 : most])
        }),
      )
    })
}

// A scenario waits for five of its six seconds.
describe.skipIf(!isBuilt).concurrent('each fault has its answer (needs dist)', () => {
  for (const [column, { name, scenarios }] of SUBJECTS.entries()) {
    test.for(scenarios)(`${name}: %s`, async (scenario, { onTestFinished }) => {
      const turn = ALL.indexOf(scenario)
      const { made, play, end } = await playing(scenario, onTestFinished)
      // The act begins the publishing.
      const steps: Array<'begin' | 'act'> = name === 'publishing' || !isLong ? ['act'] : ['begin', 'act']
      const wrong: string[] = []
      for (const [i, row] of ROWS.entries()) {
        const answers = row.answers[column] ?? []
        if (answers.includes('-')) {
          for (const call of row.calls) expect(made[call], `${call} is made`).toBe(0)
          continue
        }
        if (!isLong && i % SHARE !== turn % SHARE) continue
        const good = new Set(answers.flatMap((answer) => AS_GOOD[answer] ?? []))
        for (const each of playsOf(row, made, steps)) {
          const played = await play(each)
          const isUntyped = played.errors.some((error) => !/^(E[A-Z]+ |skipped)/.test(error))
          const isWrong = played.failed > 0 && (!good.has(played.answer) || isUntyped || played.left > 0)
          if (isWrong) wrong.push(JSON.stringify(played))
        }
      }
      await end()
      expect(wrong).toEqual([])
    })
  }
})

/** Starts the process that plays a scenario. */
async function playing(scenario: string, atEnd: typeof onTestFinished) {
  const directory = scratch(undefined, atEnd)
  const control = join(directory, 'control')
  writeFileSync(control, '')
  truncateSync(control, CONTROL_BYTES)
  const child = spawn(process.execPath, [join(import.meta.dirname, 'player.mjs'), scenario, control], {
    env: { ...process.env, FAULTS: control, LD_PRELOAD: compile('faults', ['-shared', '-fPIC']) },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  atEnd(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done)
      throw new Error(`the process that plays ${scenario} has ended: ${child.exitCode ?? child.signalCode}`)
    return JSON.parse(value)
  }
  const made: Record<string, number> = await next()
  return {
    made,
    play: async (play: Play): Promise<Played> => {
      child.stdin.write(`${JSON.stringify(play)}\n`)
      return await next()
    },
    end: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.stdin.end()
      expect(await ended).toBe(0)
    },
  }
}

describe('the calls that can be made to fail', () => {
  const shim = readFileSync(join(ROOT, 'test/native/faults.c'), 'utf8')
  const known = new Set([...shim.matchAll(/X\((\w+)\)/g)].map(([, call]) => call))

  test.skipIf(!existsSync(ADDON))('are all that the addon links (needs the addon)', () => {
    // These are no system calls, or cannot fail.
    const others =
      /^(napi_|uv_|mem|str|__|_ITM|pthread_mutex_)|^(abort|calloc|clock_gettime|free|getauxval|[gs]etrlimit|malloc|qsort|realloc|snprintf|syscall)$/
    const symbols = execFileSync('readelf', ['--dyn-syms', '-W', ADDON], { encoding: 'utf8' })
    const linked = [...symbols.matchAll(/ UND (\w+)/g)].map(([, symbol]) => symbol?.replace(/64$/, '') ?? '')
    const unknown = linked.filter((symbol) => !others.test(symbol) && !known.has(symbol))
    expect(unknown).toEqual([])
    expect(linked).toContain('inotify_init1')
  })

  test('are all that it makes by syscall(2)', () => {
    const sources = readdirSync(join(ROOT, 'native'), { recursive: true, encoding: 'utf8' })
    const made = sources
      // The other programs, and their replacement for a libc, are left out.
      .filter((name) => /\.(cc|h)$/.test(name) && name !== 'ns_enter.cc' && !/^(libc|run)\//.test(name))
      .flatMap((name) => [...readFileSync(join(ROOT, 'native', name), 'utf8').matchAll(/\bSYS_(\w+)/g)])
      .map(([, call]) => call)
    // rt_sigprocmask(2) cannot fail with these arguments.
    const wanted = new Set(made.filter((call) => call !== 'rt_sigprocmask'))
    expect([...wanted].filter((call) => !known.has(call))).toEqual([])
    expect(wanted.size).toBeGreaterThan(4)
  })

  test('are in the table, but for those of reload(), and those whose failure nobody could tell', () => {
    const inTable = new Set(ROWS.flatMap(({ calls }) => calls))
    const left = [
      'pidfd_open',
      'pidfd_send_signal',
      'waitpid',
      'munmap',
      'eventfd_read',
      'eventfd_write',
      'posix_fadvise',
      'fchownat',
      // This call is made only where statx(2) is refused: see refused.test.ts.
      'newfstatat',
      // Not everybody may make these: watch/report/makers.test.ts plays their failures.
      'fanotify_init',
      'fanotify_mark',
      'name_to_handle_at',
      'open_by_handle_at',
    ]
    expect([...known].filter((call) => call !== undefined && !inTable.has(call)).toSorted()).toEqual(
      left.toSorted(),
    )
    expect([...inTable].filter((call) => !known.has(call))).toEqual([])
  })
})
