import { describe, expect, it } from 'vitest'
import { isWithin, mountAt, parseMountinfo, toMount } from '../../src/mounts/mountinfo.ts'
import { recorded, tableText } from './fixture.ts'

describe('parseMountinfo', () => {
  const rows = parseMountinfo(tableText('escapes'))
  const byId = (id: number) => rows.find((row) => row.id === id)

  it('keeps the order and leaves out what is no row', () => {
    expect(rows.map(({ id }) => id)).toEqual([30, 31, 34, 35, 36, 37])
  })

  it('reads past any number of optional fields', () => {
    expect(byId(30)).toEqual({
      id: 30,
      parent: 1,
      point: '/',
      root: '/',
      type: 'ext4',
      source: '/dev/sda1',
      options: ['rw', 'relatime'],
    })
    expect(byId(34)?.type).toBe('tmpfs')
  })

  it('decodes the octal escapes of root, point and source', () => {
    expect(byId(31)).toMatchObject({
      root: '/dir with\ttab\nline\\back#hash',
      point: '/mnt/with space\ttab\nline\\back#hash',
      source: 's#1 \\',
    })
  })

  it('does not decode twice what a decoded backslash makes', () => {
    expect(parseMountinfo('1 0 0:1 / /a\\134040b rw - tmpfs x rw')[0]?.point).toBe('/a\\040b')
  })

  it('takes an empty source, a type with a dot and a root that is no path', () => {
    expect(byId(34)).toMatchObject({ source: '', point: '/empty-source' })
    expect(byId(35)).toMatchObject({ type: 'fuse.bindfs', source: '/srv/data' })
    expect(byId(36)).toMatchObject({ root: 'mnt:[4026532480]', type: 'nsfs' })
  })

  it("puts the mount's options before the superblock's and repeats none", () => {
    expect(byId(34)?.options).toEqual(['ro', 'nosuid', 'rw', 'size=4k'])
  })

  it('splits options before it decodes them, so that a comma in a value stays', () => {
    expect(byId(37)?.options).toEqual(['rw', 'lowerdir=/l,1:2:/l2', 'upperdir=/u 1'])
  })

  it('has no rows for an empty text', () => {
    expect(parseMountinfo('')).toEqual([])
  })
})

describe('toMount', () => {
  it('drops the parent and nothing else', () => {
    const row = recorded('btrfs', '/home')
    const { parent, ...rest } = row
    expect(parent).toBe(29)
    expect(toMount(row)).toEqual(rest)
  })
})

describe('mountAt', () => {
  it.each([
    ['kata_guest', '/usr/bin/envoy', 'overlay', 'overlay'],
    ['kata_guest', '/etc/config/..data/envoy.yaml', 'virtiofs', 'kataShared'],
    ['kata_guest', '/etc/config', 'virtiofs', 'kataShared'],
    ['kata_guest', '/etc/config2', 'overlay', 'overlay'],
    ['kata_guest', '/etc/hosts', 'virtiofs', 'kataShared'],
    ['kata_guest', '/etc/watched/key', 'tmpfs', 'tmpfs'],
    ['docker', '/etc/hosts', 'ext4', '/dev/nvme0n1p2'],
    ['docker', '/etc/hosts.allow', 'overlay', 'overlay'],
    ['docker', '/proc/acpi/x', 'tmpfs', 'tmpfs'],
    ['docker', '/proc/1/status', 'proc', 'proc'],
    ['docker', '/sys/fs/cgroup/a', 'cgroup2', 'cgroup'],
    ['wsl2', '/mnt/c/Users', '9p', 'C:\\'],
    ['wsl2', '/mnt', 'ext4', '/dev/sdc'],
    ['subpath', '/etc/app/app.yaml', 'ext4', '/dev/nvme0n1p1'],
    ['subpath', '/etc/app', 'overlay', 'overlay'],
  ])('%s: %s lies on %s', (name, path, type, source) => {
    expect(recorded(name, path)).toMatchObject({ type, source })
  })

  it('tells subvolumes of one filesystem apart', () => {
    expect(recorded('btrfs', '/home/me').root).toBe('/@home')
    expect(recorded('btrfs', '/homes').root).toBe('/@')
  })

  it('finds the uppermost of mounts stacked on one point', () => {
    expect(recorded('stacked', '/a/d').source).toBe('upper')
    expect(recorded('stacked', '/a/d/file').source).toBe('upper')
  })

  it('does not see a deeper mount that a later one over its parent directory hides', () => {
    expect(recorded('stacked', '/a/b/c').source).toBe('over-a')
    expect(recorded('stacked', '/a').source).toBe('over-a')
  })

  it('does not go by the order of the table: hidden is what is no child of what hides it', () => {
    const rows = parseMountinfo(tableText('stacked')).toReversed()
    expect(mountAt(rows, '/a/b/c')?.source).toBe('over-a')
    expect(mountAt(rows, '/a/d')?.source).toBe('upper')
  })

  it('takes the last of two children of one mount on one point', () => {
    const rows = parseMountinfo(
      '1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / /m rw - tmpfs a rw\n3 1 0:3 / /m rw - tmpfs b rw',
    )
    expect(mountAt(rows, '/m')?.source).toBe('b')
  })

  it('is undefined where no row covers the path, as in a chroot that is no mount point', () => {
    const rows = parseMountinfo('2 1 0:2 / /proc rw - proc proc rw')
    expect(mountAt(rows, '/etc')).toBeUndefined()
    expect(mountAt(rows, '/proc/self')?.type).toBe('proc')
  })

  it('ends on a table read while mounts changed, in which an id comes twice and rows are parents of each other', () => {
    const rows = parseMountinfo(
      [
        [1, 0],
        [2, 1],
        [3, 2],
        [2, 3],
      ]
        .map(([id, parent]) => `${id} ${parent} 0:1 / /m rw - tmpfs x rw`)
        .join('\n'),
    )
    expect(mountAt(rows, '/m/x')?.id).toBe(3)
  })
})

describe('isWithin', () => {
  it.each([
    ['/a', '/a', true],
    ['/a/b', '/a', true],
    ['/ab', '/a', false],
    ['/a', '/', true],
    ['/', '/', true],
    ['/', '/a', false],
  ])('%s within %s: %s', (path, directory, expected) => {
    expect(isWithin(path, directory)).toBe(expected)
  })
})
