// Names that every version of a source has are in the target all the time, by whatever links they are reached: a reader in a process of its own
// looks while links are renamed over others and what they led to is removed.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  appendFile,
  chmod,
  mkdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { begin, directory, fixture } from './fixture.ts'

const LARGE = 65_536

/** One character for each version: reader.mjs calls anything else torn. */
function content(version: number): string {
  return String.fromCharCode(97 + (version % 26)).repeat(LARGE)
}

async function reading(path: string) {
  const reader = spawn(process.execPath, [join(import.meta.dirname, 'reader.mjs'), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void reader.kill('SIGKILL'))
  await once(reader.stdout, 'data')
  return async () => {
    reader.stdin.end()
    return JSON.parse(await text(reader.stdout))
  }
}

/** Puts a link in place by rename(2), and then removes what it led to. */
async function swap(link: string, to: string): Promise<void> {
  const old = await readlink(link).catch(() => undefined)
  await symlink(to, `${link}.next`)
  await rename(`${link}.next`, link)
  if (old !== undefined) await rm(join(dirname(link), old), { recursive: true })
}

/** Ways to publish a version, and the name under which readers find it. */
const LAYOUTS = [
  {
    what: 'a rotation of certificates, whose file is given its mode last',
    name: 'cert.pem',
    publish: async (source: string, n: number) => {
      await writeFile(join(source, `cert-${n}.pem`), content(n))
      await swap(join(source, 'cert.pem'), `cert-${n}.pem`)
      await sleep(20)
      await chmod(join(source, `cert-${n}.pem`), 0o600)
    },
  },
  ...['conf.d', 'a/b/zz'].map((volume) => ({
    what: `a ConfigMap mounted at ${volume} below the source`,
    name: `${volume}/key`,
    publish: async (source: string, n: number) => {
      const made = join(source, volume, `..2026_01_01.${n}`)
      await mkdir(made, { recursive: true })
      for (const key of ['key', 'other']) await writeFile(join(made, key), content(n))
      await swap(join(source, volume, '..data'), `..2026_01_01.${n}`)
      if (n === 0) await symlink('..data/key', join(source, volume, 'key'))
    },
  })),
  ...[
    ['current', '.worktrees'],
    ['zz', '.worktrees'],
    ['a', 'b'],
  ].map(([link = '', worktrees = '']) => ({
    what: `a worktree of git-sync in ${worktrees} behind ${link}`,
    name: `${link}/sub/file`,
    publish: async (source: string, n: number) => {
      const made = join(source, worktrees, `${(n * 7919) % 1000}`)
      await mkdir(join(made, 'sub'), { recursive: true })
      for (let file = 0; file < 20; file++) await writeFile(join(made, `${file}`), `${n}`)
      await writeFile(join(made, 'sub/file'), content(n))
      await swap(join(source, link), join(worktrees, `${(n * 7919) % 1000}`))
    },
  })),
]

const GAPS = [3, 25, 8, 60, 0, 40, 15, 90]

for (const { what, name, publish } of LAYOUTS)
  test(`${what}: a tight reader misses nothing, and the last version arrives`, async () => {
    const { source, target } = fixture()
    await publish(source, 0)
    await begin(source, target, { interval: 5, quiet: 50 })
    const finish = await reading(join(target, name))
    for (const [n, gap] of [...GAPS, ...GAPS].entries()) {
      await publish(source, n + 1)
      await sleep(gap)
    }
    await vi.waitFor(
      () => expect(readFileSync(join(target, name), 'utf8')).toBe(content(2 * GAPS.length)),
      60_000,
    )
    const { reads, missing, torn } = await finish()
    expect(reads).toBeGreaterThan(100)
    expect({ missing, torn }).toEqual({ missing: 0, torn: 0 })
  })

test('a link to a log that is written to all the time leads to the last good one, and that is said', async () => {
  const { source, target } = fixture()
  await writeFile(join(source, 'log-1'), 'one\n')
  await symlink('log-1', join(source, 'log'))
  const mirror = await begin(source, target, { quiet: 60 })
  await writeFile(join(source, 'log-2'), 'two\n')
  const writing = setInterval(() => void appendFile(join(source, 'log-2'), 'more\n'), 10)
  onTestFinished(() => clearInterval(writing))
  await swap(join(source, 'log'), 'log-2')
  for (let n = 0; n < 5; n++) await mirror.refresh()
  expect(await readFile(join(target, 'log'), 'utf8')).toBe('one\n')
  expect(mirror.skipped).toMatchObject([{ path: 'log-2' }])
  clearInterval(writing)
  await mirror.refresh()
  expect(await readFile(join(target, 'log'), 'utf8')).toMatch(/^two\n/)
})

// The new version does not fit, by its bytes or its inodes, into a target of this size.
for (const { options, bytes, files } of [
  { options: 'size=128k', bytes: 90_000, files: 1 },
  { options: 'size=1m,nr_inodes=60', bytes: 10, files: 30 },
])
  test(`a full target (${options}) keeps the last good version behind a link until the new one fits`, async ({
    skip,
  }) => {
    const { source } = fixture()
    const target = directory()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'none', target]).status !== 0)
      skip('needs the right to mount')
    onTestFinished(() => void spawnSync('umount', [target]))
    const publish = async (version: string, size: number, count: number) => {
      await mkdir(join(source, version, 'sub'), { recursive: true })
      for (let n = 0; n < count; n++)
        await writeFile(join(source, version, 'sub', `f${n}`), version.padEnd(size))
      await swap(join(source, 'current'), version)
    }
    await publish('v1', 10, files)
    const mirror = await begin(source, target)
    const errors: unknown[] = []
    mirror.on('error', (error) => errors.push(error))
    const read = () => readFile(join(target, 'current/sub/f0'), 'utf8')
    await publish('v2', bytes * 2, files * 2)
    for (let n = 0; n < 3; n++) {
      await mirror.refresh()
      expect((await read()).trim()).toBe('v1')
    }
    expect(errors).toMatchObject([{ code: 'ENOSPC' }])
    await publish('v3', 10, 1)
    for (let n = 0; n < 2; n++) await mirror.refresh()
    expect((await read()).trim()).toBe('v3')
  })
