// A family of links that a writer leads from one file to the next while a first pass reads: there is no earlier version that could stay.
import { readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { mirror } from '../../src/index.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { directory } from './fixture.ts'

const PASSES = 40

/** Rotates every so many ms until it is terminated. */
async function rotating(source: string, links: readonly string[], pause: number): Promise<void> {
  const writer = `
    const fs = require('node:fs')
    const { workerData: [source, links, pause], parentPort } = require('node:worker_threads')
    const lead = (link, to) => {
      fs.symlinkSync(to, source + '/next')
      fs.renameSync(source + '/next', source + '/' + link)
    }
    let n = 0
    const rotate = () => {
      fs.writeFileSync(source + '/cert~' + n, 'version ' + n)
      lead(links[0], 'cert~' + n)
      if (n > 0) fs.unlinkSync(source + '/cert~' + (n - 1))
      n++
    }
    rotate()
    links.slice(1).forEach((link, i) => lead(link, links[i]))
    setInterval(rotate, pause)
    parentPort.postMessage('begun')`
  const worker = new Worker(writer, { eval: true, workerData: [source, links, pause] })
  onTestFinished(() => void worker.terminate())
  await new Promise((resolve) => worker.once('message', resolve))
}

test.each([
  // A link that is rotated more often than a file has to hold still is hardly ever complete.
  { links: ['cert'], pause: 3, least: 0 },
  { links: ['cert'], pause: 60, least: 1 },
  { links: ['cert', 'cert~link', 'a'], pause: 60, least: 1 },
])(
  'a version that is said to be complete has what $links lead to, rotated every $pause ms',
  async ({ links, pause, least }) => {
    const source = directory()
    await rotating(source, links, pause)
    let complete = 0
    for (let n = 0; n < PASSES; n++) {
      const target = directory()
      await using mirrored = await mirror(source, target, { interval: 60_000, quiet: 0 })
      if (mirrored.lacking !== undefined) continue
      complete++
      for (const link of links) expect(readFileSync(join(target, link), 'utf8')).toMatch(/^version \d+$/)
    }
    expect(complete).toBeGreaterThanOrEqual(least)
  },
)

test('a link to what was made after its directory was listed, and is gone at the second look, is not taken for one that leads nowhere', async () => {
  const [source, target] = [directory(), directory()]
  let n = -1
  const rotate = () => {
    writeFileSync(join(source, `cert~${++n}`), `version ${n}`)
    symlinkSync(`cert~${n}`, join(source, 'next'))
    renameSync(join(source, 'next'), join(source, 'cert'))
    if (n > 0) unlinkSync(join(source, `cert~${n - 1}`))
  }
  rotate()
  const { stat } = SyscallThread.prototype
  let link: Promise<unknown> | undefined
  vi.spyOn(SyscallThread.prototype, 'stat').mockImplementation(async function (this: SyscallThread, at) {
    // The first listing is over, and the link has not been looked at.
    if (at.name === 'cert' && n === 0) rotate()
    // The link has been looked at, and not the file.
    if (at.name === 'cert~1' && n === 1) {
      await link
      rotate()
    }
    const looking = stat.call(this, at)
    if (at.name === 'cert') link = looking
    return await looking
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await using mirrored = await mirror(source, target, { interval: 60_000, quiet: 0 })
  expect([n, mirrored.lacking]).toEqual([2, undefined])
  expect(readFileSync(join(target, 'cert'), 'utf8')).toBe('version 2')
})
