import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { compile } from '../../support/compile.ts'
import { isLong, rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'

// One to three sources change in every way that people have, a mirror of them runs in this process or as the command, is killed and
// started with other options, and others do what they like to its target. At each quiet moment the target shows what the sources have (expected.mjs),
// and a program that reads as fast as it can never meets a gap, a torn file or a mix. player.mjs plays the rounds; it uses dist.
//
// In the environment:
// ROUNDS=1000    as many rounds, of all kinds together
// SEED=...       the rounds with this number. Without it they are the same each time: what new ones find is for whoever plays them
// ROUND=file     that of a failure, made smaller, up to 100 times, as a failure says
// SHRINK_MS=...  for how long a failure is made smaller

const KINDS = ['tmpfs', 'ext4', 'overlay', 'FUSE', 'bindfs', 'FUSE by seconds'] as const
type Kind = (typeof KINDS)[number]

/** npm test plays these alone: a round on an overlay takes half of the time of all six. */
const QUICK: readonly Kind[] = ['tmpfs', 'FUSE by seconds']
const isQuick = !isLong && process.env.ROUNDS === undefined && process.env.ROUND === undefined

const total = rounds(process.env.ROUNDS, { quick: QUICK.length, long: KINDS.length })
const each = Math.ceil(total / KINDS.length)
const seed = Number(process.env.SEED ?? 1)
const shrinking = Number(process.env.SHRINK_MS ?? 20_000)

const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/cli.js'))
const isRoot = process.getuid?.() === 0

const MAGIC = { ext4: 0xef53, tmpfs: 0x01021994 }

function directoryOn(filesystem: keyof typeof MAGIC): string | undefined {
  return [tmpdir(), '/var/tmp', '/dev/shm', process.cwd()].find(
    (directory) => existsSync(directory) && statfsSync(directory).type === MAGIC[filesystem],
  )
}

function whyNot(kind: Kind): string | undefined {
  if (!isBuilt) return 'needs dist'
  if (isQuick && !QUICK.includes(kind)) return 'npm run test:long'
  if (kind === 'tmpfs' || kind === 'ext4')
    return directoryOn(kind) === undefined ? 'no such directory here' : undefined
  return mayUnshare ? undefined : 'needs unshare -rm'
}

interface Result {
  unable?: string
  tally: Record<'rounds' | 'starts' | 'quiets' | 'changes' | 'reads', number>
  found?: { round: unknown; wrong: string[]; journal: string[] }
}

async function play(kind: Kind): Promise<Result> {
  const targets = (['tmpfs', 'ext4'] as const).flatMap((filesystem) => {
    const parent = directoryOn(filesystem)
    return parent === undefined ? [] : [{ filesystem, directory: scratch(parent) }]
  })
  const own = targets.find(({ filesystem }) => filesystem === kind)
  const base = join(own?.directory ?? scratch(tmpdir()), 'sources')
  mkdirSync(base)
  const player = [
    process.execPath,
    '--no-warnings',
    join(import.meta.dirname, 'player.mjs'),
    // Rounds of its own, not those of the other kinds.
    ...[kind, compile('target_reader'), each, seed + KINDS.indexOf(kind), shrinking, base].map(String),
    ...targets.map(({ filesystem, directory }) => `${filesystem}=${directory}`),
  ]
  const isPlain = own !== undefined
  const [program = '', ...argv] = isPlain ? player : ['unshare', isRoot ? '-m' : '-rm', ...player]
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  return JSON.parse(output)
}

function report(kind: Kind, { round, wrong, journal }: NonNullable<Result['found']>): string {
  const path = join(tmpdir(), `inotify-bridge-mirror-round-${process.pid}-${Date.now()}.json`)
  writeFileSync(path, JSON.stringify({ round }))
  const command = `npx vitest run test/mirror/model -t '${kind}'`
  return [
    ...wrong,
    '-- what led to it:',
    ...journal.slice(-60).map((line) => `   ${line}`),
    `-- again, the same steps, until it fails: ROUND=${path} ${command}`,
    `-- again from the seed: SEED=${seed} ROUNDS=${total} ${command}`,
  ].join('\n')
}

const looked = { rounds: 0, reads: 0, quiets: 0 }

describe(`${total} rounds, seed ${seed}`, () => {
  for (const kind of KINDS) {
    const why = whyNot(kind)
    const name = `the target is what sources on ${kind} say, at every quiet moment, and readers meet no gap`
    test.skipIf(why)(
      why === undefined ? name : `${name}: ${why}`,
      // As long as any test, and for each round: one on an overlay takes 15 s, or minutes beside other tests.
      { timeout: 600_000 + shrinking + each * 15_000 },
      async ({ skip }: TestContext) => {
        const { unable, tally, found } = await play(kind)
        if (unable !== undefined) skip(`cannot be mounted here: ${unable}`)
        if (found !== undefined) expect.fail(report(kind, found))
        process.stdout.write(`${kind}: ${JSON.stringify(tally)}\n`)
        for (const key of ['rounds', 'reads', 'quiets'] as const) looked[key] += tally[key]
      },
    )
  }

  // A few rounds of one kind may be without either.
  test('readers have read, and there were quiet moments: otherwise nothing is looked at', ({ skip }) => {
    if (looked.rounds === 0) skip('no sources could be mounted')
    expect(looked.reads).toBeGreaterThan(0)
    expect(looked.quiets).toBeGreaterThan(looked.rounds)
  })
})
