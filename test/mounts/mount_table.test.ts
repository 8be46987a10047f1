import { expect, test } from 'vitest'
import { MountTable } from '../../src/mounts/mount_table.ts'
import { keysOf } from '../../src/name_key.ts'

const row = (id: number, point: string, type: string) => `${id} 1 0:${id} / ${point} rw - ${type} none rw\n`

test('a mount is found by the key of its point, be the other names UTF-8 or not', () => {
  const strange = Buffer.from([0x2f, 0x61, 0xff, 0x2f, 0xc3, 0xa9])
  const text = row(1, '/', 'ext4') + row(2, '/é', 'virtiofs') + row(3, '/a?/é', 'virtiofs')
  const bytes = Buffer.from(text)
  bytes[bytes.lastIndexOf('?')] = 0xff
  const table = new MountTable(bytes)
  expect([...table.points]).toEqual(['/', '/é', keysOf(strange)])
  expect(table.servedMountOf('/é/below')?.point).toBe('/é')
  expect(table.servedMountOf(`${keysOf(strange)}/below`)?.id).toBe(3)
  expect(table.servedMountOf('/else')).toBeUndefined()
})
