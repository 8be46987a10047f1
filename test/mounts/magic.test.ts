import { readFileSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { capability } from '../../src/mounts/filesystems.ts'
import { typeByMagic } from '../../src/mounts/magic.ts'

it.each([
  [0xef53, 'ext4'],
  [0x9123683e, 'btrfs'],
  [0x65735546, 'fuse'],
  [0x01021997, '9p'],
  [0x6969, 'nfs'],
  [0xfe534d42, 'smb3'],
  [0x794c7630, 'overlay'],
])('%i is %s', (magic, type) => {
  expect(typeByMagic(magic)).toBe(type)
  expect(typeByMagic(BigInt(magic))).toBe(type)
})

it('compares as unsigned 32 bits: a signed word may be negative or sign-extended', () => {
  expect(typeByMagic(0x9123683e | 0)).toBe('btrfs')
  expect(typeByMagic(0xffffffff_ff534d42n)).toBe('cifs')
  expect(typeByMagic(-0x00acb2ben)).toBe('cifs')
})

it('is undefined for a number that is in no table', () => {
  expect(typeByMagic(0x12345678)).toBeUndefined()
})

it("knows this kernel's /proc and takes it for what it is", () => {
  const type = typeByMagic(statfsSync('/proc', { bigint: true }).type)
  expect(type).toBe('proc')
  expect(capability({ type: type ?? '', options: [] }).local).toBe('lost')
})

it('has the numbers of all that `run` polls: those which are silent, where the kernel is not too old for `run`', () => {
  const numbersIn = (file: string, line: RegExp) =>
    [...readFileSync(join(import.meta.dirname, '../..', file), 'utf8').matchAll(line)].map(([, number]) =>
      Number(number),
    )
  const polled = numbersIn('native/run/watched/mounts.cc', /case (0x\w+):/g)
  const known = numbersIn('src/mounts/magic.ts', /^ {2}\[(0x\w+), /gm)
  const isSilent = (number: number) => {
    const { remote, untimed, rare } = capability({ type: typeByMagic(number) ?? '', options: [] })
    return remote === 'silent' && !untimed && !rare
  }
  // Linux 4.17 has removed ncpfs; the others are older numbers, of SMB and of the kernel's own AFS.
  const expected = [...known.filter((number) => isSilent(number) && number !== 0x564c), 0x517b, 0x6b414653]
  expect(polled.toSorted()).toEqual(expected.toSorted())
})
