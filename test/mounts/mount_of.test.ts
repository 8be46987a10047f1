import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { InotifyError } from '../../src/errors.ts'
import { findMount, type MountSystem, mountOf } from '../../src/mounts/mount_of.ts'
import { tableText } from './fixture.ts'

const row = (id: number, point: string, source: string) =>
  `${id} 1 0:${id} / ${point} rw - tmpfs ${source} rw\n`

/** A system on which nothing may be asked but what the test gives. */
function system(given: Partial<MountSystem>): MountSystem {
  const unasked = (name: string) => () => {
    throw new Error(`${name} was asked`)
  }
  return {
    mountId: unasked('mountId'),
    readMountinfo: unasked('readMountinfo'),
    realPath: unasked('realPath'),
    fType: unasked('fType'),
    ...given,
  }
}

function failure(call: () => unknown): InotifyError {
  try {
    call()
  } catch (error) {
    if (error instanceof InotifyError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('findMount', () => {
  it('goes by the id the kernel gives, and shows no parent', () => {
    const mount = findMount(
      '/a/b/c',
      system({ mountId: () => 63, readMountinfo: () => tableText('stacked') }),
    )
    expect(mount).toEqual({
      id: 63,
      point: '/a/b',
      root: '/',
      type: 'tmpfs',
      source: 'hidden',
      options: ['rw', 'relatime'],
    })
  })

  it('reads the table once more for an id that was mounted between the two questions', () => {
    const tables = [row(2, '/m', 'old'), row(2, '/m', 'old') + row(3, '/m', 'new')]
    const mount = findMount('/m/x', system({ mountId: () => 3, readMountinfo: () => tables.shift() ?? '' }))
    expect(mount.source).toBe('new')
    expect(tables).toEqual([])
  })

  it('goes by the real path when the kernel does not say the id', () => {
    const fake = system({
      mountId: () => 0,
      readMountinfo: () => tableText('kata_guest'),
      realPath: () => '/etc/config/..data',
    })
    expect(findMount('/link', fake)).toMatchObject({ id: 121, type: 'virtiofs' })
  })

  it("takes f_type, not this table's same path, for an id of another mount namespace", () => {
    const fake = system({
      mountId: () => 9999,
      readMountinfo: () => tableText('docker'),
      fType: () => 0x65735546,
    })
    expect(findMount('/proc/7/root/etc/config', fake)).toEqual({
      id: 9999,
      point: '',
      root: '',
      type: 'fuse',
      source: '',
      options: [],
    })
  })

  it.each([
    ['cannot be read', () => failWith('EACCES', -13)],
    ['has no row for the path', () => row(2, '/proc', 'x')],
  ])('takes f_type when the table %s', (_, readMountinfo) => {
    const fake = system({ mountId: () => 0, readMountinfo, realPath: String, fType: () => 0x6969n })
    expect(findMount('/srv', fake)).toMatchObject({ id: 0, type: 'nfs' })
    expect(findMount('/srv', { ...fake, fType: () => 1 }).type).toBe('unknown')
  })

  it('fails as statx does, whichever question met it', () => {
    const missing = () => failWith('ENOENT', -2)
    const byId = failure(() => findMount('/no', system({ mountId: () => -2 })))
    const byPath = failure(() =>
      findMount('/no', system({ mountId: () => 0, readMountinfo: () => '', realPath: missing })),
    )
    for (const error of [byId, byPath]) {
      expect(error).toMatchObject({ code: 'ENOENT', errno: -2, syscall: 'statx', path: '/no' })
      expect(error.hint).toMatch(/no such path/)
    }
  })

  it('does not hide an error that is none of the system', () => {
    const fake = system({ mountId: () => 0, readMountinfo: () => '' })
    expect(() => findMount('/x', fake)).toThrow('realPath was asked')
  })
})

function failWith(code: string, errno: number): never {
  throw Object.assign(new Error(code), { code, errno })
}

describe('mountOf on this kernel', () => {
  const type = (point: string) => {
    const last = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.split(' ')[1] === point)
      .at(-1)
    return last?.split(' ')[2]
  }

  it('finds /proc', () => {
    expect(mountOf('/proc/self/status')).toMatchObject({ type: 'proc', point: '/proc', root: '/' })
  })

  it.skipIf(type('/dev/shm') !== 'tmpfs')('finds the uppermost /dev/shm', () => {
    expect(mountOf('/dev/shm')).toMatchObject({ type: 'tmpfs', point: '/dev/shm' })
  })

  it('follows symlinks', () => {
    expect(existsSync('/proc/self/cwd')).toBe(true)
    expect(mountOf('/proc/self/cwd')).toEqual(mountOf(process.cwd()))
  })

  it('fails for a path that does not exist', () => {
    const error = failure(() => mountOf('/no/such/path'))
    expect(error).toMatchObject({ code: 'ENOENT', syscall: 'statx', path: '/no/such/path' })
    expect(error.hint).not.toBe('')
  })
})
