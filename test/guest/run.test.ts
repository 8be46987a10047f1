// inotify-bridge run on a virtiofs share that the host changes: unchanged programs hear of the host's swaps
// and of local changes, once. nginx is not among them, because it watches nothing.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { programs } from '../support/programs.ts'
import { lacking } from './requirements.ts'
import { record, summary } from './results.ts'
import { type Run, withGuest } from './suite.ts'

const INTERVAL = 50
/** ms after the interval. */
const SOON = 150
const SWAPS = 10
/** ms between looks, for changes that must not wait for a look. */
const SELDOM = 3000

/** A kind of change in the guest, and the lines that the program prints for it. */
type Local = [change: 'write' | 'rename' | 'unlink' | 'swap', ...lines: string[]]

interface Reader {
  program: () => string[]
  /** The end of the line after which the program watches. */
  ready?: string
  /** The reason why the program is missing. */
  missing?: string
  /** The end of the line with which the program reports a swap. */
  swapped: string
  /** All lines of a swap, if they are always the same. */
  swap?: string[]
  /**
   * A line that a look may cause or not: the AtomicWriter sets the mode of the directory that it has just
   * made.
   */
  unsure?: string
  /** The program's lines have no fixed order. */
  isUnordered?: boolean
  /** ms before each swap in which the program may finish with the last one. */
  rests?: number
  local: Local[]
}

const staticReader = (mask: string) => [compile('epoll_reader', ['-static']), mask, 'DIRECTORY']
const watcher = (by: string) => [
  process.execPath,
  join(import.meta.dirname, 'scenarios/watcher.mjs'),
  by,
  'DIRECTORY',
]

const GO_SOURCES = process.env.GOPATH ?? '/usr/share/gocode'
const noGo =
  lacking('go') ||
  (existsSync(join(GO_SOURCES, 'src/github.com/fsnotify/fsnotify')) ? '' : "needs Go's fsnotify in GOPATH")

/** Builds from Debian's sources, or from those in GOPATH. Fetches nothing. */
function goReader(): string[] {
  const program = join(programs(), 'fsnotify')
  const env = {
    ...process.env,
    GO111MODULE: 'off',
    GOPATH: GO_SOURCES,
    GOCACHE: `${program}.cache`,
    CGO_ENABLED: '0',
  }
  execFileSync('go', ['build', '-o', program, join(import.meta.dirname, '../native/fsnotify.go')], { env })
  return [program, 'DIRECTORY']
}

const READERS: Record<string, Reader> = {
  inotifywait: {
    program: () => {
      const events = 'create,delete,move,modify,close_write,attrib,delete_self'
      return ['inotifywait', '-m', '-e', events, '--format', '%e %f', 'DIRECTORY']
    },
    missing: lacking('inotifywait'),
    ready: 'Watches established.',
    swapped: 'MOVED_TO ..data',
    swap: [
      'CREATE,ISDIR ..TIME',
      'CREATE ..data_tmp',
      'MOVED_FROM ..data_tmp',
      'MOVED_TO ..data',
      'DELETE,ISDIR ..TIME',
    ],
    unsure: 'ATTRIB,ISDIR ..TIME',
    local: [
      ['write', 'CREATE local', 'MODIFY local', 'CLOSE_WRITE,CLOSE local'],
      ['rename', 'MOVED_FROM local', 'MOVED_TO moved'],
      ['unlink', 'DELETE moved'],
    ],
  },
  // These are the events that Go's fsnotify asks for.
  'a static program that watches as fsnotify does': {
    program: () => staticReader('fc6'),
    swapped: '80 ..data',
    swap: ['40000100 ..TIME', '100 ..data_tmp', '40 ..data_tmp', '80 ..data', '40000200 ..TIME'],
    unsure: '40000004 ..TIME',
    local: [
      ['write', '100 local', '2 local'],
      ['rename', '40 local', '80 moved'],
      ['unlink', '200 moved'],
      [
        'swap',
        '40000100 ..TIME',
        '40000004 ..TIME',
        '100 ..data_tmp',
        '40 ..data_tmp',
        '80 ..data',
        '40000200 ..TIME',
      ],
    ],
  },
  "Go's fsnotify": {
    program: goReader,
    missing: noGo,
    swapped: 'CREATE ..data',
    swap: ['CREATE ..TIME', 'CREATE ..data_tmp', 'RENAME ..data_tmp', 'CREATE ..data', 'REMOVE ..TIME'],
    unsure: 'CHMOD ..TIME',
    local: [
      ['write', 'CREATE local', 'WRITE local'],
      ['rename', 'RENAME local', 'CREATE moved'],
      ['unlink', 'REMOVE moved'],
    ],
  },
  // This program reads its file again at IN_MOVED_TO alone.
  "Envoy's rule": {
    program: () => staticReader('82'),
    swapped: '80 ..data',
    swap: ['80 ..data'],
    local: [
      ['write', '2 local'],
      ['rename', '80 moved'],
      ['swap', '80 ..data'],
    ],
  },
  "Node's fs.watch": {
    program: () => watcher('fs.watch'),
    swapped: 'rename ..data',
    swap: ['rename ..data_tmp', 'rename ..data_tmp', 'rename ..data'],
    unsure: 'rename ..TIME',
    local: [
      ['write', 'rename local', 'change local'],
      ['rename', 'rename local', 'rename moved'],
      ['unlink', 'rename moved'],
    ],
  },
  // chokidar joins several events, by its own looks and by time.
  chokidar: {
    program: () => watcher('chokidar'),
    swapped: 'change a',
    isUnordered: true,
    // chokidar does not report a change within 50 ms of the last one of the same file.
    rests: 500,
    local: [
      ['write', 'add local'],
      ['rename', 'add moved', 'unlink local'],
      ['unlink', 'unlink moved'],
    ],
  },
}

interface Heard {
  /** ms; null for a change that the program never reported. */
  latencies: Array<number | null>
  told: string[]
  error: number
}

/** The changes in the readers' directories: one reader after the other, or all at a time. */
interface Played {
  interval: number
  swaps?: number
  local?: (reader: Reader) => Local[]
  together?: boolean
}

const isSwap = ([change]: Local) => change === 'swap'
const times = <T>(count: number, lines: T[]) => Array.from({ length: count }, () => lines).flat()
const SWAPPED: Played = { interval: INTERVAL, swaps: SWAPS }
/** The looks are far apart, and each reader waits for three of them. */
const LOCAL: Played = { interval: SELDOM, local: ({ local }) => local, together: true }
const LOCAL_SWAPS: Played = { interval: 10, local: ({ local }) => times(SWAPS, local.filter(isSwap)) }

/** ms for all readers; on an idle machine they take up to 40 s. */
const DEADLINE = 300_000
const ALLOWED = { timeout: 2 * DEADLINE + 30_000 }

const measured = (latencies: Array<number | null>) =>
  summary(latencies.map((ms) => ms ?? Number.POSITIVE_INFINITY))
/** Returns the lines for changes in the guest. */
const linesOf = (local: Local[]) => local.flatMap(([, ...said]) => said)

/**
 * Plays changes to some readers, in one process of the guest. Resolves to the lines and latencies of each
 * reader, by name.
 */
async function play(run: Run, names: string[], { local = () => [], ...played }: Played) {
  const readers = names.map((name) => {
    const reader = READERS[name] as Reader
    const { program, ready = 'ready', swapped, rests = 0 } = reader
    return { program: program(), ready, swapped, rests, local: local(reader) }
  })
  const parameters = { swaps: 0, together: false, ...played, readers }
  const heard = await run<Heard[]>('served', parameters, DEADLINE)
  return new Map(names.map((name, n) => [name, heard[n] as Heard]))
}

function hear(mode: string, run: Run, names: string[]): void {
  const figures = (name: string, what: string, { latencies, error }: Heard) => {
    const clock = Math.round(error * 10) / 10
    record(mode, `run, ${name}, ${what}`, { ...measured(latencies), clock })
    return measured(latencies)
  }
  /** Plays changes to all readers once. The test of the first reader starts the play. */
  const once = (subjects: string[], played: Played) => {
    let all: Promise<Map<string, Heard>> | undefined
    return async (name: string) => {
      all ??= play(run, subjects, played)
      return (await all).get(name) as Heard
    }
  }
  const swapping = names.filter((name) => READERS[name]?.local.some(isSwap))
  const [swapped, changed, swappedHere] = [
    once(names, SWAPPED),
    once(names, LOCAL),
    once(swapping, LOCAL_SWAPS),
  ]

  test.each(names)(
    `%s hears of each swap of the host's within ${INTERVAL} ms and ${SOON} more than of a local change, once`,
    ALLOWED,
    async (name) => {
      const { swap, unsure } = READERS[name] as Reader
      const check = (heard: Heard) => {
        const { median, max } = figures(name, 'swaps', heard)
        const told = heard.told.filter((line) => line !== unsure)
        if (swap !== undefined) expect(told).toEqual(times(SWAPS, swap))
        expect(max, `all of: ${told.join('; ')}`).toBeLessThan(Number.POSITIVE_INFINITY)
        return median
      }
      // chokidar reports a local change 100 ms after it hears of the change; the others take 2 ms.
      const bound = INTERVAL + SOON + measured((await changed(name)).latencies).median
      // Other processes may have had the processors for a while.
      if (check(await swapped(name)) <= bound) return
      const again = await play(run, [name], SWAPPED)
      expect(check(again.get(name) as Heard)).toBeLessThanOrEqual(bound)
    },
  )

  test.each(names)("%s hears of the guest's own changes at once, once", ALLOWED, async (name) => {
    const heard = await changed(name)
    const { local, isUnordered = false } = READERS[name] as Reader
    const inOrder = (lines: string[]) => (isUnordered ? lines.toSorted() : lines)
    expect(inOrder(heard.told)).toEqual(inOrder(linesOf(local)))
    expect(figures(name, 'local', heard).max).toBeLessThan(SELDOM / 2)
  })

  test.each(swapping)(
    "%s hears of the guest's own swaps once while looks are under way",
    ALLOWED,
    async (name) => {
      const heard = await swappedHere(name)
      figures(name, 'local swaps', heard)
      expect(heard.told).toEqual(linesOf(LOCAL_SWAPS.local?.(READERS[name] as Reader) ?? []))
    },
  )
}

function prometheus(mode: string, run: Run): void {
  const missing = lacking('prometheus')
  const name = `Prometheus has read its file_sd's file within ${INTERVAL} ms and ${SOON} of a swap, once for each event`
  test.skipIf(missing)(missing === '' ? name : `${name} (${missing})`, async () => {
    const swaps = 5
    const play = async () => {
      const parameters = { interval: INTERVAL, swaps, within: INTERVAL + SOON }
      const seen = await run<{ inTime: number; scans: number }>('prometheus', parameters, 180_000)
      record(mode, 'run, Prometheus', { swaps, ...seen })
      // Prometheus reads its file at each of the swap's five events, and ignores a change of mode.
      expect(seen.scans).toBe(5 * swaps)
      return seen.inTime
    }
    if ((await play()) < swaps / 2) expect(await play()).toBeGreaterThanOrEqual(swaps / 2)
  })
}

withGuest('run by virtiofs, cache=auto', { cache: 'auto' }, (run) => {
  const missing = (name: string) => READERS[name]?.missing ?? ''
  for (const name of Object.keys(READERS).filter((each) => missing(each) !== ''))
    test.skip(`${name} (${missing(name)})`)
  hear(
    'auto',
    run,
    Object.keys(READERS).filter((each) => missing(each) === ''),
  )
  prometheus('auto', run)
})

// A reader's reaction to events does not depend on the daemon: one that prints each event stands for the
// others.
withGuest('run by virtiofs of Rust, cache=auto', { cache: 'auto', rust: true }, (run) => {
  hear('auto of Rust', run, ['a static program that watches as fsnotify does', "Envoy's rule"])
})
