// Another user may rename in the directory that is published to: what is made ready there changes its name at any moment.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { moveFile, publishDirectory, replaceFile } from '../../src/index.ts'
import { codeOf } from '../../src/mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { giveAway, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'

const hasTwoMounts = existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync('/tmp').dev
/** An attack is tried so often: each is seldom in time. */
const TRIES = rounds(process.env.TRIES, { quick: 20, long: 30 })

/** Gives the name of what is being made ready to something else, and says what to do before each later call. */
type Exchange = (path: string) => () => void

const nothing = () => {}

/** Also while somebody exchanges what is in it. */
function empty(directory: string): void {
  for (let names = readdirSync(directory); names.length > 0; names = readdirSync(directory))
    for (const name of names) {
      try {
        rmSync(join(directory, name), { recursive: true, force: true })
      } catch (error) {
        // It has changed places with something else.
        if (!['ENOTEMPTY', 'ENOTDIR', 'EISDIR'].includes(codeOf(error))) throw error
      }
    }
}

function othersLink(path: string): void {
  rmSync(path, { force: true })
  symlinkSync('nowhere', path)
  giveAway(path)
}

/** A directory that all may write to. */
function open(parent = '/tmp'): string {
  const directory = scratch(parent)
  chmodSync(directory, 0o777)
  return directory
}

const NAMES = ['sub', 'sub/key', 'one', 'two']

/** Files and directories of root's in a directory, of which others shall not become owners, and which others shall not read. */
class Precious {
  readonly #directory: string
  #fds: number[] = []
  touched = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Makes them anew. */
  lay(): void {
    mkdirSync(join(this.#directory, 'sub'), 0o700)
    this.#fds = NAMES.map((name) => {
      const path = join(this.#directory, name)
      // At once: the other user may be there already.
      return name === 'sub' ? openSync(path, 'r') : openSync(path, 'wx', 0o600)
    })
  }

  /** Looks at them, wherever they are by now. */
  check(): void {
    for (const fd of this.#fds) {
      const { uid, mode, nlink } = fstatSync(fd)
      // A file of the directory itself may have gone: whoever may rename there may remove it as well.
      const isGone = nlink === 0 && this.#fds.indexOf(fd) < 2
      if (uid !== 0 || (mode & 0o077) !== 0 || isGone) this.touched++
      closeSync(fd)
    }
  }
}

async function exchanging(directory: string, prefix: string) {
  const program = spawn(compile('exchange_names'), [directory, prefix, 'sub', 'one', 'two'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  const ended = text(program.stdout)
  await once(program.stdout, 'readable')
  return async () => {
    program.stdin.end()
    return Number((await ended).replace('ready', ''))
  }
}

describe.skipIf(!isRoot)(`${TRIES} times, by a program that waits for the event (needs root)`, () => {
  /** Returns how often it was in time, of how many times something of root's had become another's, or readable, or was gone. */
  async function under(directory: string, prefix: string, publish: (n: number) => Promise<unknown>) {
    const precious = new Precious(directory)
    const stop = await exchanging(directory, prefix)
    for (let n = 0; n < TRIES; n++) {
      empty(directory)
      precious.lay()
      // It may fail: the name of what it made has gone.
      await publish(n).catch(() => {})
      precious.check()
    }
    return { inTime: (await stop()) > 0, touched: precious.touched }
  }

  test.skipIf(!hasTwoMounts)("moveFile() of another's symlink across mounts", async () => {
    const [directory, elsewhere] = [open('/dev/shm'), scratch()]
    const result = await under(directory, '.inotify-bridge.tmp-', async () => {
      const from = join(elsewhere, 'from')
      othersLink(from)
      await moveFile(from, join(directory, 'to'))
    })
    expect(result).toEqual({ inTime: true, touched: 0 })
  })

  test.skipIf(!hasTwoMounts)("moveFile() of another's file across mounts", async () => {
    const [directory, elsewhere] = [open('/dev/shm'), scratch()]
    const result = await under(directory, '.inotify-bridge.tmp-', async () => {
      const from = join(elsewhere, 'from')
      writeFileSync(from, 'content')
      giveAway(from)
      await moveFile(from, join(directory, 'to'))
    })
    expect(result).toEqual({ inTime: true, touched: 0 })
  })

  test("replaceFile() of another's file", async () => {
    const directory = open('/dev/shm')
    const result = await under(directory, '.inotify-bridge.tmp-', async () => {
      const to = join(directory, 'to')
      writeFileSync(to, 'old', { mode: 0o666 })
      giveAway(to)
      await replaceFile(to, 'new')
    })
    expect(result).toEqual({ inTime: true, touched: 0 })
  })

  test('publishDirectory(): a directory with the name of its new version is not opened up, nor removed by the next call', async () => {
    const directory = open('/dev/shm')
    const result = await under(directory, '..2', async (n) => {
      await publishDirectory(directory, { key: `${n}`, 'nested/key': '' }).catch(() => {})
      await publishDirectory(directory, { key: `${n}, again` })
    })
    expect(result).toEqual({ inTime: true, touched: 0 })
  })
})

test.skipIf(!isRoot || !hasTwoMounts)(
  'before any call of moveFile() the names change places: no owner but that of its own symlink changes (needs root)',
  async () => {
    const [directory, elsewhere] = [open('/dev/shm'), scratch()]
    const [from, to] = [join(elsewhere, 'from'), join(directory, 'to')]
    const isTemporary = (name: string) => name.startsWith('.inotify-bridge.tmp-')

    /** Puts something else in the place of one of what is being made ready, before a call; whether there has been such a call. */
    async function moveWith(call: number, which: number, exchange: Exchange): Promise<boolean> {
      let calls = 0
      let goOn = nothing
      const methods = ['open', 'openBeneath', 'stat', 'symlink', 'rename', 'chown', 'lock', 'unlink'] as const
      for (const method of methods) {
        const original = SyscallThread.prototype[method] as (...args: unknown[]) => Promise<never>
        vi.spyOn(SyscallThread.prototype, method).mockImplementation(async function (
          this: SyscallThread,
          ...args: unknown[]
        ) {
          goOn()
          const name = calls++ === call ? readdirSync(directory).filter(isTemporary).sort()[which] : undefined
          if (name !== undefined) goOn = exchange(join(directory, name))
          return await original.apply(this, args)
        })
      }
      await moveFile(from, to).catch(() => {})
      vi.restoreAllMocks()
      return calls > call
    }

    const replace = (path: string, other: string) => {
      renameSync(path, join(directory, 'away'))
      renameSync(join(directory, other), path)
      return nothing
    }
    /** A directory of the other user's. */
    const replaceByTheirs = (path: string) => {
      renameSync(path, join(directory, 'away'))
      mkdirSync(path)
      giveAway(path)
    }
    const exchanges: Exchange[] = [
      (path) => replace(path, 'one'),
      // A private one of root's.
      (path) => replace(path, 'sub'),
      (path) => {
        replaceByTheirs(path)
        return nothing
      },
      // As soon as the link has been made.
      (path) => () => {
        const link = path.replace(/(\.link)?$/, '.link')
        if (
          existsSync(join(directory, 'one')) &&
          existsSync(path) &&
          readdirSync(directory).includes(basename(link))
        )
          replace(link, 'one')
      },
    ]
    let tries = 0
    for (const exchange of exchanges) {
      for (const which of [0, 1]) {
        for (let call = 0, isMore = true; isMore; call++) {
          empty(directory)
          const precious = new Precious(directory)
          precious.lay()
          othersLink(from)
          isMore = await moveWith(call, which, exchange)
          precious.check()
          expect(precious.touched, `before call ${call}`).toBe(0)
          tries++
        }
      }
    }
    expect(tries).toBeGreaterThan(30)
  },
)
