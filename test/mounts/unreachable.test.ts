// Verdicts of diagnose() on paths that it cannot look at.
import { describe, expect, test } from 'vitest'
import { examine } from '../../src/mounts/diagnosis/examine.ts'
import { type Files, imagine } from './imagined.ts'

describe('what cannot be reached', () => {
  test.each([
    ['a path that does not exist', '/srv/no/such', {}, 'ENOENT', /there is no \/srv; make it$/],
    [
      'a symlink that leads nowhere',
      '/etc/link',
      { '/etc/link': '-> /etc/gone' },
      'ENOENT',
      /the symlink \/etc\/link leads to \/etc\/gone, which is not there/,
    ],
    [
      'a directory that may not be searched',
      '/root/x',
      { '/root/x': 'EACCES' },
      'EACCES',
      /uid \d+ may not look for \/root\/x; search permission/,
    ],
    ...[
      ["another user's process", '/proc/7/root/etc/envoy', '/proc/7/root/etc', 'EACCES'],
      ['the root of it itself', '/proc/7/root', '/proc/7/root', 'EACCES'],
      ['a process that hidepid=1 hides', '/proc/7/root/etc', '/proc/7/root/etc', 'EPERM'],
    ].map(([name = '', path = '', at = '', code = '']): [string, string, Files, string, RegExp] => [
      name,
      path,
      { '/proc/7/root': 'file', [at]: code },
      code,
      /^uid \d+ may not look into process 7: .* CAP_SYS_PTRACE; run as that user, .*--profile=sysadmin'$/,
    ]),
    [
      'a directory of a process that may be seen',
      '/proc/7/root/etc/envoy',
      { '/proc/7/root/etc/envoy': 'EACCES' },
      'EACCES',
      /may not look for \/proc\/7\/root\/etc\/envoy; search permission/,
    ],
    [
      'a process that is gone, or hidden by hidepid=2',
      '/proc/7/root/etc',
      { '/proc/7': 'ENOENT' },
      'ENOENT',
      /^no process 7 is to be seen here$/,
    ],
    [
      'a server that forgot',
      '/mnt/nfs/x',
      { '/mnt/nfs/x': 'ESTALE' },
      'ESTALE',
      /asked for \/mnt\/nfs\/x; .*mount it again/,
    ],
    [
      'a FUSE server that is gone',
      '/mnt/sshfs',
      { '/mnt/sshfs': 'ENOTCONN' },
      'ENOTCONN',
      /the FUSE server behind the mount is gone/,
    ],
  ])('%s', async (_, path, files: Files, code, hint) => {
    const failed = examine(path, imagine('server', { files }))
    await expect(failed).rejects.toMatchObject({
      code,
      syscall: 'statx',
      path,
      hint: expect.stringMatching(hint),
    })
  })

  test('a mount that does not answer: which, and what it is', async () => {
    const files = { '/mnt/nfs/a': 'silence' }
    const failed = examine('/mnt/nfs/a/b', imagine('server', { files }), 50)
    await expect(failed).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      path: '/mnt/nfs/a/b',
      hint: expect.stringMatching(
        /^the mount at \/mnt\/nfs \(nfs4\) has not answered for 0\.05 s, .*\/mnt\/nfs\/a: .*umount -l \/mnt\/nfs/,
      ),
      mount: expect.objectContaining({ point: '/mnt/nfs', source: 'filer:/export' }),
    })
  })
})
