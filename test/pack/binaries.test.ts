import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { copyCheckout, makePrebuilds, ROOT } from './checkout.ts'

const checkout = mkdtempSync(join(tmpdir(), 'inotify-bridge-binaries-'))
afterAll(() => rmSync(checkout, { recursive: true }))

const readelf = (...args: string[]) => execFileSync('readelf', args, { encoding: 'utf8' })

let prebuilds: string

beforeAll(() => {
  copyCheckout(checkout)
  prebuilds = makePrebuilds(checkout, isLong ? [] : [process.arch])
})

const MACHINES = [
  ['x64', 'X86-64'],
  ['arm64', 'AArch64'],
] as const

for (const [architecture, machine] of MACHINES) {
  const isMade = isLong || architecture === process.arch
  const condition = isMade ? '' : ' (compiled for another machine: npm run test:long)'

  describe.skipIf(!isMade)(`linux-${architecture}${condition}`, () => {
    const file = (name: string) => join(prebuilds, `linux-${architecture}`, name)
    const addon = () => file('inotify_bridge.node')
    const programs = () => [file('inotify_bridge_enter'), file('inotify_bridge_run')]

    test('all are of that architecture', () => {
      for (const one of [addon(), ...programs()])
        expect(readelf('-hW', one)).toMatch(new RegExp(`Machine: .*${machine}`))
    })

    test('the addon needs libc and nothing else, of 2018 at the latest', () => {
      const needed = [...readelf('-dW', addon()).matchAll(/NEEDED.*\[(.+)\]/g)].map(([, library]) => library)
      expect(needed).toEqual(['libc.so.6'])
      const versions = [...readelf('-VW', addon()).matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) =>
        Number(minor),
      )
      expect(Math.max(...versions)).toBeLessThanOrEqual(28)
    })

    // Loading it fails where one is missing (-z now). libgcc's functions for atomics were such on arm64.
    test('the addon asks for nothing but what libc, libuv and Node-API have', () => {
      const undefinedOnes = [...readelf('--dyn-syms', '-W', addon()).matchAll(/ UND (\S+)/g)].map(
        ([, name]) => name,
      )
      const elsewhere = undefinedOnes.filter((name) => !/@GLIBC_|^(napi|uv)_/.test(name as string))
      expect(undefinedOnes.length).toBeGreaterThan(100)
      expect(elsewhere.filter((name) => !/^(_ITM_|__gmon_start__)/.test(name as string))).toEqual([])
    })

    // The programs have the few functions of libc that they need in native/libc: with glibc inside, one had 700 KB.
    test('the programs ask for no dynamic linker, and have nothing for one to do: one file for glibc and musl, of a few KB', () => {
      for (const program of programs()) {
        expect(readelf('-lW', program)).not.toContain('INTERP')
        expect(readelf('-rW', program)).toContain('There are no relocations')
        expect(readelf('-dW', program)).not.toContain('NEEDED')
        expect(statSync(program).size).toBeLessThan(80_000)
      }
    })

    // Defences against an overwritten buffer: a guard before each return address, tables that cannot be written, no stack that is
    // executed, and a program that is never twice at the same address.
    test('all are hardened', () => {
      for (const one of [addon(), ...programs()]) {
        expect(readelf('-dW', one)).toMatch(/\(FLAGS\).*BIND_NOW/)
        expect(readelf('-lW', one)).toMatch(/GNU_RELRO/)
        expect(readelf('-lW', one)).toMatch(/GNU_STACK .* RW /)
      }
      for (const program of programs()) expect(readelf('-hW', program)).toMatch(/Type: +DYN/)
      const objects =
        architecture === process.arch
          ? join(ROOT, 'build/Release/obj.target')
          : join(checkout, 'build', architecture, 'native/build/Release/obj.target')
      const nativeOf = (target: string) =>
        join(objects, target, architecture === process.arch ? 'native' : '')
      for (const object of [
        join(nativeOf('inotify_bridge_enter'), 'ns_enter.o'),
        join(nativeOf('inotify_bridge_run'), 'run/caller.o'),
      ])
        expect(readelf('-sW', object)).toContain('__stack_chk_fail')
      if (architecture === 'x64') expect(readelf('--dyn-syms', '-W', addon())).toContain('__stack_chk_fail')
    })
  })
}

test('the program of this machine can be executed', () => {
  const program = join(prebuilds, `linux-${process.arch}`, 'inotify_bridge_enter')
  expect(spawnSync(program, { encoding: 'utf8' })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('mirror --in-place'),
  })
})

test('where a compiler is missing nothing is packed, and one line says which', () => {
  const bin = scratch()
  for (const name of ['strip', 'sh']) {
    const found = execFileSync('sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8' }).trim()
    symlinkSync(found, join(bin, name))
  }
  const other = scratch()
  copyCheckout(other)
  const { status, stderr } = spawnSync(process.execPath, [join(other, 'scripts/prebuilds.mjs'), 'make'], {
    env: { PATH: bin },
    encoding: 'utf8',
  })
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /^inotify-bridge: not packed: .* \(Debian: apt install g\+\+-[a-z0-9-]+-linux-gnu\)\n$/,
  )
  expect(readdirSync(other)).not.toContain('prebuilds')
})
