// inotify-bridge run on a virtiofs share that the host changes: programs as they are hear of the host's swaps, and of local changes, once.
// nginx is not among them: it watches nothing.
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
/** ms between looks where nothing may wait for one. */
const SELDOM = 3000

/** A kind of change in the guest, and the lines that are said of it. */
type Local = [change: 'write' | 'rename' | 'unlink' | 'swap', ...lines: string[]]

interface Reader {
  program: () => string[]
  /** The end of the line after which it watches. */
  ready?: string
  /** Why it cannot be had. */
  missing?: string
  /** The end of the line by which it hears of a swap. */
  swapped: string
  /** All that is said of a swap, where that is always the same. */
  swap?: string[]
  /** A line that a look may cause or not: the AtomicWriter sets the mode of the directory that it has just made. */
  unsure?: string
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

/** Built from Debian's sources, or those in GOPATH: nothing is fetched. */
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
  // The events that Go's fsnotify asks for.
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
  // It reads its file again at IN_MOVED_TO alone.
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
  // It puts several events together, by what it finds then, and by time.
  chokidar: {
    program: () => watcher('chokidar'),
    swapped: 'change a',
    local: [
      ['write', 'add local'],
      ['rename', 'add moved', 'unlink local'],
      ['unlink', 'unlink moved'],
    ],
  },
}

interface Heard {
  /** ms; null of what was never heard of. */
  latencies: Array<number | null>
  told: string[]
  error: number
}

const times = <T>(count: number, lines: T[]) => Array.from({ length: count }, () => lines).flat()
const measured = (latencies: Array<number | null>) =>
  summary(latencies.map((ms) => ms ?? Number.POSITIVE_INFINITY))

/** @param brief the guest's own changes are left to the readers that may tell of swaps among them */
function hears(mode: string, run: Run, name: string, reader: Reader, brief: boolean): void {
  const { program, ready = 'ready', swapped, swap, unsure } = reader
  const play = async (what: string, parameters: { interval: number; swaps?: number; local?: Local[] }) => {
    const { interval, swaps = 0, local = [] } = parameters
    const asked = local.map((each) => [each[0], each.at(-1)])
    const served = { program: program(), ready, swapped, interval, swaps, local: asked }
    const { latencies, told, error } = await run<Heard>('served', served, 180_000)
    const figures = measured(latencies)
    record(mode, `run, ${name}, ${what}`, { ...figures, clock: Math.round(error * 10) / 10 })
    return { told, ...figures }
  }
  /** The lines that changes in the guest are told by. */
  const lines = (local: Local[]) => local.flatMap(([, ...said]) => said)

  test(`${name} hears of each swap of the host's within ${INTERVAL} ms and ${SOON}, once`, async () => {
    const swaps = async () => {
      const { told, median, max } = await play('swaps', { interval: INTERVAL, swaps: SWAPS })
      if (swap !== undefined) expect(told.filter((line) => line !== unsure)).toEqual(times(SWAPS, swap))
      expect(max, `all of: ${told.join('; ')}`).toBeLessThan(Number.POSITIVE_INFINITY)
      return median
    }
    // Others may have had the processors for a while.
    if ((await swaps()) > INTERVAL + SOON) expect(await swaps()).toBeLessThanOrEqual(INTERVAL + SOON)
  })

  const localSwaps = reader.local.filter(([change]) => change === 'swap')
  if (brief && localSwaps.length === 0) return

  test(`${name} hears of the guest's own changes at once, once`, async () => {
    const { told, max } = await play('local', { interval: SELDOM, local: reader.local })
    expect(told).toEqual(lines(reader.local))
    expect(max).toBeLessThan(SELDOM / 2)
  })

  if (localSwaps.length === 0) return
  test(`${name} hears of the guest's own swaps once while looks are under way`, async () => {
    const local = times(SWAPS, localSwaps)
    const { told } = await play('local swaps', { interval: 10, local })
    expect(told).toEqual(lines(local))
  })
}

function prometheus(mode: string, run: Run): void {
  const missing = lacking('prometheus')
  const name = `Prometheus has read its file_sd's file within ${INTERVAL} ms and ${SOON} of a swap, once for each event`
  test.skipIf(missing)(missing === '' ? name : `${name} (${missing})`, async () => {
    const play = async () => {
      const parameters = { interval: INTERVAL, swaps: SWAPS, within: INTERVAL + SOON }
      const seen = await run<{ inTime: number; scans: number }>('prometheus', parameters, 180_000)
      record(mode, 'run, Prometheus', { swaps: SWAPS, ...seen })
      // Five events; of a change of mode it does nothing.
      expect(seen.scans).toBe(5 * SWAPS)
      return seen.inTime
    }
    if ((await play()) < SWAPS / 2) expect(await play()).toBeGreaterThanOrEqual(SWAPS / 2)
  })
}

for (const rust of [false, true]) {
  const mode = rust ? 'auto of Rust' : 'auto'
  withGuest(`run by virtiofs${rust ? ' of Rust' : ''}, cache=auto`, { cache: 'auto', rust }, (run) => {
    for (const [name, reader] of Object.entries(READERS)) {
      const { missing = '' } = reader
      if (missing === '') hears(mode, run, name, reader, rust)
      else test.skip(`${name} (${missing})`)
    }
    prometheus(mode, run)
  })
}
