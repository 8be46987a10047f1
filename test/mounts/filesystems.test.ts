import { describe, expect, it } from 'vitest'
import { backendFor, capability, chooseBackend } from '../../src/mounts/filesystems.ts'
import { recorded } from './fixture.ts'

const of = (type: string, ...options: string[]) => capability({ type, options })

describe('capability', () => {
  it.each(
    'ext2 ext3 ext4 xfs btrfs f2fs tmpfs ramfs zfs bcachefs exfat vfat ntfs3 fuseblk devtmpfs hugetlbfs'.split(
      ' ',
    ),
  )('%s: delivered, and nobody else can change it', (type) => {
    expect(of(type)).toMatchObject({ local: 'delivered', remote: 'none' })
  })

  it.each(
    (
      'virtiofs fuse fuse.bindfs fuse.sshfs fuse.vmhgfs-fuse nfs nfs4 cifs smb3 ceph lustre gpfs beegfs ' +
      'panfs ocfs2 gfs2 vxfs afs coda ncpfs vboxsf vmhgfs prl_fs overlay'
    ).split(' '),
  )('%s: delivered here, silent elsewhere', (type) => {
    expect(of(type)).toMatchObject({ local: 'delivered', remote: 'silent' })
  })

  it.each('squashfs erofs iso9660 cramfs'.split(' '))('%s: read-only, nothing to poll for', (type) => {
    expect(of(type)).toMatchObject({ local: 'delivered', remote: 'none' })
    expect(backendFor(of(type))).toBe('inotify')
  })

  it.each(
    'proc sysfs devpts debugfs tracefs securityfs configfs binfmt_misc fusectl selinuxfs pstore efivarfs'.split(
      ' ',
    ),
  )('%s: lost', (type) => {
    expect(of(type)).toMatchObject({ local: 'lost', remote: 'silent' })
  })

  it.each(['cgroup', 'cgroup2'])('%s: the kernel reports *.events', (type) => {
    expect(of(type)).toMatchObject({ local: 'delivered', remote: 'none' })
    expect(of(type).why).toContain('*.events')
  })

  it.each('fakeowner fuse.grpcfuse fuse.osxfs'.split(' '))('%s: Docker Desktop repeats some', (type) => {
    expect(of(type)).toMatchObject({ local: 'delivered', remote: 'unknown' })
    expect(of(type).why).toContain('Docker Desktop')
  })

  it.each(['cache=remote_revalidating', 'cache=fscache'])("gVisor's 9p with %s: its own inotify", (cache) => {
    expect(of('9p', 'trans=fd', 'rfdno=7', 'wfdno=7', cache)).toMatchObject({
      local: 'delivered',
      remote: 'silent',
      why: expect.stringContaining('gVisor'),
    })
  })

  it('aufs: unreliable', () => {
    expect(of('aufs')).toMatchObject({ local: 'unknown', remote: 'silent' })
  })

  it.each('autofs ecryptfs hostfs wslfs vzfs sdcardfs jfs unknown fused'.split(' '))(
    '%s: not known whether others can change it',
    (type) => {
      expect(of(type)).toMatchObject({ local: 'delivered', remote: 'unknown' })
    },
  )

  it.each([
    [[], 'lost'],
    [['cache=none'], 'lost'],
    [['cache=mmap'], 'lost'],
    [['cache=readahead'], 'lost'],
    [['mmap'], 'lost'],
    [['cache=0'], 'lost'],
    [['cache=1'], 'lost'],
    [['cache=5'], 'lost'],
    [['cache=0x5'], 'lost'],
    [['cache=loose'], 'delivered'],
    [['loose'], 'delivered'],
    [['cache=f'], 'delivered'],
    [['cache=0xf'], 'delivered'],
    [['cache=fscache'], 'delivered'],
    [['fscache'], 'delivered'],
    [['cache=8f'], 'delivered'],
    [['cache=0x8f'], 'delivered'],
    [['cache=remote_revalidating'], 'unknown'],
  ])('9p with %j: %s here, silent elsewhere', (options, local) => {
    expect(of('9p', 'rw', 'trans=virtio', ...options)).toMatchObject({ local, remote: 'silent' })
  })
})

describe('backendFor', () => {
  const why = ''
  it.each([
    ['delivered', 'none', 'inotify'],
    ['delivered', 'silent', 'inotify+poll'],
    ['delivered', 'unknown', 'inotify+poll'],
    ['lost', 'none', 'poll'],
    ['lost', 'silent', 'poll'],
    ['unknown', 'silent', 'poll'],
    ['unknown', 'none', 'poll'],
  ] as const)('%s and %s: %s', (local, remote, expected) => {
    expect(backendFor({ local, remote, why })).toBe(expected)
  })
})

describe('chooseBackend', () => {
  it.each([
    ['kata_guest', '/etc/config', 'inotify+poll'],
    ['kata_guest', '/etc/watched', 'inotify'],
    ['kata_guest', '/proc/1', 'poll'],
    ['docker', '/app/src', 'inotify'],
    ['wsl2', '/mnt/c/Users', 'poll'],
    ['wsl2', '/mnt/d', 'poll'],
    ['wsl2', '/home/me', 'inotify'],
    ['btrfs', '/home', 'inotify'],
  ])('%s: %s by %s', (name, path, expected) => {
    expect(chooseBackend(recorded(name, path)).backend).toBe(expected)
  })

  it("does not poll an overlay, which a container's root is, and says what that leaves out", () => {
    const { backend, why } = chooseBackend(recorded('docker', '/srv'))
    expect(backend).toBe('inotify')
    expect(why).toMatch(/^overlay: .*upper or a lower directory directly.*backend: 'poll'/)
  })
})
