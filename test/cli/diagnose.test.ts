// The command on this kernel: live mounts as the kubelet, a container engine and others make them. See diagnosed.mjs.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Diagnosis } from '../../src/mounts/diagnosis/diagnosis.ts'
import type { Probe } from '../../src/mounts/diagnosis/probe.ts'
import type { RenameCheck } from '../../src/mounts/diagnosis/rename_check.ts'
import type { Verdict } from '../../src/mounts/diagnosis/verdict.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { Program, Run } from './command.ts'

type Said = Diagnosis & { verdict: Verdict; probe: Probe; error: { code: string; hint: string } }
type Named = Record<string, Said> & { move: RenameCheck; stderr: string }
interface Ran {
  code: number
  stdout: string
  stderr: string
  took: number
}

/** The tmpfs is the namespace's own, and goes with it. */
async function play<T>(scenario: string): Promise<T> {
  const program = [process.execPath, join(import.meta.dirname, 'diagnosed.mjs'), scenario, scratch()]
  const child = spawn('unshare', ['-rm', ...program], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, complaint, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  expect(code, complaint).toBe(0)
  return JSON.parse(output)
}

describe.skipIf(!mayUnshare)('on live mounts (needs unshare -rm)', () => {
  test('an update leaves each single-file mount behind, and the directory not', async () => {
    const { before, after, shown, alone } = await play<{
      before: Named
      after: Named
      shown: string
      alone: Ran
    }>('updates')
    const pinned = (said: Named) => [
      said['etc/app/app.yaml']?.pinned,
      said['etc/tls/tls.key']?.pinned,
      said['etc/host.yaml']?.pinned,
      said['etc/whole']?.pinned,
      said['etc/whole/app.yaml']?.pinned,
    ]
    expect(pinned(before)).toEqual(['static', 'static', 'static', 'no', 'no'])
    expect(pinned(after)).toEqual(['stale', 'stale', 'stale', 'no', 'no'])
    expect(shown, 'what the stale mount shows').toBe('1')

    expect(after['etc/app/app.yaml']?.verdict.text).toMatch(/stale: it is a subPath mount/)
    expect(after['etc/app/app.yaml']?.advice.join()).toMatch(/name: config, mountPath: \S+\/etc\/app \}/)
    expect(after['etc/tls/tls.key']?.verdict.text).toMatch(/subPath/)
    expect(after['etc/host.yaml']?.verdict.text).not.toMatch(/subPath/)
    expect(after['etc/host.yaml']?.advice.join()).toMatch(/-v \S*\/host\.yaml:\S+\/etc\/host\.yaml/)
    expect(after['etc/whole']?.verdict.text).toMatch(/IN_MOVED_TO of \.\.data/)
    expect(after['etc/whole/app.yaml']?.verdict.text).toMatch(/none names this file/)

    expect(alone.code).toBe(0)
    expect(alone.stdout.split('\n')[0]).toMatch(/^\S+\/app\.yaml: This file is stale/)
  })

  test('each place: what is proved, moved, left by a layer, gone', async () => {
    const { probed, codes, left, binds, same, layer, gone, errors } = await play<{
      probed: Named
      codes: number[]
      left: string[]
      binds: Named
      same: Named
      layer: Named
      gone: Ran
      errors: string[]
    }>('places')
    expect(probed.memory).toMatchObject({
      mount: { type: 'tmpfs' },
      verdict: { level: 'good' },
      probe: { result: 'proved' },
    })
    expect(probed.merged).toMatchObject({
      mount: { type: 'overlay' },
      backend: 'inotify',
      probe: { result: 'proved' },
    })
    expect(probed['fs/a/file']?.probe.result).toBe('proved')
    expect(probed.front).toMatchObject({
      remote: 'silent',
      backend: 'inotify+poll',
      verdict: { text: expect.stringMatching(/whoever is behind the FUSE server/) },
      probe: {
        result: 'not possible',
        why: expect.stringMatching(/no scratch file can be made in \S+\/front/),
      },
    })
    expect(probed.pinned?.probe).toMatchObject({
      result: 'not possible',
      why: expect.stringMatching(/a mount of its own/),
    })
    expect(
      codes,
      'with --check: tmpfs, overlay, FUSE, a file there, one of two, one that is not there',
    ).toEqual([0, 0, 1, 1, 1, 1])
    expect(left.sort(), 'no scratch file stays').toEqual(['file', 'file', 'key'])

    // The command says what rename(2) does.
    expect(errors).toEqual(['EXDEV', ''])
    expect(binds.move).toMatchObject({
      outcome: 'EXDEV',
      why: expect.stringMatching(/two mounts of one file system/),
    })
    expect(same.move).toMatchObject({ outcome: 'rename' })

    expect(layer['merged/file']?.verdict.text).toMatch(/a layer behind this overlay was changed directly/)
    expect(layer.merged?.verdict.level).toBe('good')
    expect(gone).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^inotify-bridge diagnose: ENOTCONN/),
    })
  })

  test('a server that holds whoever asks beyond SIGKILL: the command ends, and lets go of its output', async () => {
    const said = await play<Ran>('silent')
    expect(said.took).toBeLessThan(30_000)
    expect(said.code).toBe(1)
    expect(said.stdout).toMatch(/does not answer\./)
  })

  test('a server that has stopped: an answer within 6 s, and what the mount table says', async () => {
    const { text, json } = await play<{ text: Ran; json: Ran }>('stopped')
    expect(text.took).toBeLessThan(30_000)
    expect(text.code).toBe(1)
    expect(text.stdout).toMatch(/^\S+\/front\/sub: the mount at \S+\/front \(fuse\S*\) does not answer\.\n/)
    expect(text.stdout).toMatch(/mount {4}fuse\S* at \S+\/front from \S+, by the mount table/)
    expect(text.stdout, 'the other path').toMatch(/^\/proc: No watcher hears/m)
    expect(text.stderr).toMatch(/^inotify-bridge diagnose: ETIMEDOUT: .*has not answered for 4 s.*umount -l/)
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: { code: 'ETIMEDOUT' },
      mount: { type: expect.stringMatching(/^fuse/) },
    })
  })

  const hasBindfs = spawnSync('bindfs', ['--version']).status === 0
  test.skipIf(!hasBindfs)(
    'a server that stops while it is probed: no scratch file stays when it goes on (needs bindfs)',
    async () => {
      const { probe, ...rest } = await play<{ probe: Probe; code: number; made: string[]; left: string[] }>(
        'probed',
      )
      expect(probe).toMatchObject({
        result: 'not possible',
        why: expect.stringMatching(/front has stopped answering$/),
      })
      expect(rest).toEqual({ code: 0, made: expect.arrayContaining(['.inotify-bridge-probe']), left: [] })
    },
  )
})

test('the verdict first, then what it rests on', async () => {
  const directory = scratch('/dev/shm')
  const { code, stdout, stderr } = await new Run(['diagnose', directory]).ended()
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    `${directory}: Events arrive here: a plain inotify watcher sees every change.`,
    '',
    '  mount    tmpfs at /dev/shm from tmpfs',
  ])
  expect(stdout).toMatch(/limits {3}\d+ of \d+ watches, \d+ of \d+ instances/)
  expect(stdout, 'for programs: neither colours nor wrapped').not.toContain('\x1b')
})

test('who holds watches, this one among them', async () => {
  const watched = scratch()
  const run = await Run.watching(['-m', watched])
  const asked = new Run(['diagnose', '--json', watched])
  await asked.ended()
  expect(asked.objects[0]?.holders).toContainEqual({
    pid: run.pid,
    name: expect.stringMatching(/node|MainThread/),
    instances: 1,
    watches: expect.any(Number),
  })
})

test('--probe proves what happens here, and leaves nothing', async () => {
  const directory = scratch()
  mkdirSync(join(directory, 'sub'))
  writeFileSync(join(directory, 'file'), '')
  for (const path of [directory, join(directory, 'file')]) {
    const { code, stdout } = await new Run(['diagnose', '--probe', path]).ended()
    expect(code).toBe(0)
    expect(stdout).toMatch(/probe {4}proved: a file made and renamed in \S+ came as IN_MOVED_TO/)
  }
  const { stdout } = await new Run(['diagnose', '--probe', '/proc/self/status']).ended()
  expect(stdout).toMatch(/probe {4}not possible: no scratch file can be made in \/proc\/\d+/)
  expect(readdirSync(directory).sort()).toEqual(['file', 'sub'])
})

test('ended in the midst of a probe, it leaves nothing either', async () => {
  const directory = scratch()
  const watcher = await Run.watching(['-m', '-e', 'moved_to', directory])
  // The first event that anybody hears of is the end of it.
  const run = new Run(['diagnose', '--probe', directory])
  await watcher.until('stdout', /MOVED_TO \.inotify-bridge-probe-/)
  run.kill('SIGTERM')
  await run.ended()
  await expect.poll(() => readdirSync(directory)).toEqual([])
})

test.each([
  { args: ['--check', '.'], code: 0 },
  { args: ['--check', '--json', '.'], code: 0 },
  { args: ['--check', '--probe', '.'], code: 0 },
  { args: ['--check', '/proc'], code: 1 },
  { args: ['--check', '.', '/proc'], code: 1 },
  { args: ['--check', '--json', '/proc', '.'], code: 1 },
  { args: ['/proc'], code: 0 },
])('exit code $code: diagnose $args', async ({ args, code }) => {
  const ended = await new Run(['diagnose', ...args], { cwd: scratch() }).ended()
  expect(ended).toMatchObject({ code, stderr: '' })
})

test('of two paths, one of which is not there: what is known of the other, and exit code 1', async () => {
  const { code, stdout, stderr } = await new Run(['diagnose', '/no/such', '/proc']).ended()
  expect(code).toBe(1)
  expect(stderr).toMatch(/^inotify-bridge diagnose: ENOENT: .*there is no \/no; /)
  expect(stdout).toMatch(/^\/proc: /)
  expect(stdout).not.toMatch(/moved/)
})

describe.skipIf(spawnSync('script', ['--version']).status !== 0)('on a terminal (needs script)', () => {
  /** `script` gives it one of 60 columns. */
  async function shown(
    environment: NodeJS.ProcessEnv,
    without = ['-u', 'NO_COLOR', '-u', 'FORCE_COLOR', '-u', 'CI'],
  ): Promise<string> {
    const main = join(import.meta.dirname, '../../dist/cli.js')
    const command = `stty cols 60; '${process.execPath}' '${main}' diagnose /proc`
    const program = new Program('env', [...without, 'script', '-qec', command, '/dev/null'], {
      environment: { TERM: 'xterm', ...environment },
    })
    return (await program.ended()).stdout
  }

  test('lines are wrapped to its width, and the verdict coloured', async () => {
    const output = await shown({})
    expect(output).toMatch(/^\x1b\[1;31m\/proc: No watcher hears/)
    const lines = output.replaceAll(/\x1b\[[\d;]*m/g, '').split('\r\n')
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(60)
    expect(lines).toContainEqual(expect.stringMatching(/^ {11}\S/))
  })

  test('NO_COLOR forbids colours', async () => {
    expect(await shown({ NO_COLOR: '1' }, ['-u', 'FORCE_COLOR'])).not.toContain('\x1b')
  })

  test('TERM=dumb has no colours, but is wrapped', async () => {
    const output = await shown({ TERM: 'dumb' })
    expect(output).not.toContain('\x1b')
    expect(Math.max(...output.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(60)
  })
})
