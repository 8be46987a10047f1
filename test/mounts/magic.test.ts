import { statfsSync } from 'node:fs'
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
