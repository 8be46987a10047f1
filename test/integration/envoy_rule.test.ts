// Envoy's rule, imitated (examples/envoy-exdev/envoy_rule.mjs says how much of it): Debian has no Envoy.
// Envoy reads its file again at IN_MOVED_TO of exactly the file's name in its directory, or at any move in a
// `watched_directory`, and at no other event.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mirror } from '../../src/mirror/mirror.ts'
import { moveFile, publishDirectory, replaceFile } from '../../src/publish/publish.ts'
import { MAIN, Run } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'
import { PATIENCE } from './programs.ts'

const NAME = 'lds.yaml'

describe.skipIf(!existsSync(MAIN))("Envoy's rule, imitated (needs dist)", () => {
  /** Returns a watched directory like Envoy's, a directory on another mount, and the moves so far. */
  async function envoy(name?: string) {
    const { EnvoyRule } = await import('../../examples/envoy-exdev/envoy_rule.mjs')
    const [directory, elsewhere] = [scratch(), scratch('/dev/shm')]
    const file = join(directory, NAME)
    writeFileSync(file, 'old')
    const from = join(elsewhere, NAME)
    writeFileSync(from, 'new')
    const rule = new EnvoyRule(directory, name)
    onTestFinished(() => rule.close())
    const reloads = async () => {
      // All reloads before the mark have been told.
      writeFileSync(join(directory, 'mark'), 'x')
      await expect.poll(() => rule.heard.has('mark'), PATIENCE).toBe(true)
      return rule.reloads
    }
    return { directory, file, from, rule, reloads }
  }

  test.each<[string, (file: string, from: string) => unknown]>([
    ['mv from another mount', (file, from) => execFileSync('mv', [from, file])],
    ['cp', (file, from) => execFileSync('cp', [from, file])],
    ['writing it', (file) => writeFileSync(file, 'new')],
    [
      'moving another name',
      (file) => {
        writeFileSync(`${file}.new`, '')
        renameSync(`${file}.new`, `${file}.tmp`)
      },
    ],
  ])('%s: nothing', async (_, change) => {
    const { file, from, reloads } = await envoy(NAME)
    await change(file, from)
    expect(await reloads()).toEqual([])
  })

  test.each<[string, (file: string, from: string) => unknown]>([
    ['moveFile() from another mount', (file, from) => moveFile(from, file)],
    ['replaceFile()', (file) => replaceFile(file, 'new')],
    ['inotify-bridge publish', (file, from) => new Run(['publish', from, file]).ended()],
  ])('%s: once', async (_, change) => {
    const { file, from, reloads } = await envoy(NAME)
    await change(file, from)
    expect(await reloads()).toEqual([NAME])
  })

  test("a ConfigMap's swap: nothing by the file's name, once by the watched_directory", async () => {
    for (const [name, moves] of [
      [NAME, []],
      [undefined, ['..data']],
    ] as const) {
      const { directory, reloads } = await envoy(name)
      await publishDirectory(join(directory), { 'cds.yaml': 'new' })
      expect(await reloads()).toEqual(moves)
    }
  })

  test('publish --touch: a watched_directory beside the file', async () => {
    const { directory, from, reloads } = await envoy()
    const certificates = scratch()
    const { code } = await new Run(['publish', '--touch', directory, from, certificates]).ended()
    expect(code).toBe(0)
    expect(await reloads()).toEqual(['.inotify-bridge.touch'])
  })

  test("a mirror's target: a flat file by its name, a swap by the watched_directory", async () => {
    const { EnvoyRule } = await import('../../examples/envoy-exdev/envoy_rule.mjs')
    const [base, target] = [scratch(), scratch('/dev/shm')]
    const source = join(base, 'source')
    mkdirSync(source)
    writeFileSync(join(source, NAME), 'one')
    await atomicWrite(source, { 'cds.yaml': 'one' })
    await using mirrored = await mirror(source, target, { quiet: 0, interval: 20 })
    const [byName, byDirectory] = [new EnvoyRule(target, NAME), new EnvoyRule(target)]
    for (const rule of [byName, byDirectory]) onTestFinished(() => rule.close())
    // A write in place, as virtiofs or NFS would show it. In the target it is a rename nevertheless.
    writeFileSync(join(source, NAME), 'two')
    await expect.poll(() => byName.reloads, PATIENCE).toEqual([NAME])
    await atomicWrite(source, { 'cds.yaml': 'two' })
    await expect.poll(() => byDirectory.reloads.at(-1), PATIENCE).toBe('..data')
    expect(byName.reloads).toEqual([NAME])
    expect(mirrored.state).toBe('mirroring')
  })
})
