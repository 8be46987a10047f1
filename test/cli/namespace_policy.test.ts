import { expect, test } from 'vitest'
import { whyForbidden } from '../../src/cli/in_place/namespace_policy.ts'
import { isForegroundStat } from '../../src/cli/shared/run_program.ts'

const USERNS = 'unshare(CLONE_NEWUSER|CLONE_NEWNS)'
const SYSCTL = '/proc/sys'

const ROOT_WITHOUT_CAPS = 'Uid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\nSeccomp:\t0\n'

test.each([
  [USERNS, 'ENOSPC', { [`${SYSCTL}/user/max_user_namespaces`]: '0\n' }, 'user.max_user_namespaces is 0'],
  [
    USERNS,
    'EPERM',
    { [`${SYSCTL}/kernel/unprivileged_userns_clone`]: '0\n' },
    'unprivileged_userns_clone is 0',
  ],
  [USERNS, 'EPERM', { '/proc/self/status': 'Seccomp:\t2\n' }, 'a seccomp filter is in force'],
  [
    USERNS,
    'EPERM',
    { '/proc/self/attr/current': 'docker-default (enforce)\n' },
    'as docker-default (enforce)',
  ],
  [
    'fsopen',
    'EPERM',
    { [`${SYSCTL}/kernel/apparmor_restrict_unprivileged_userns`]: '1\n' },
    'mounting a tmpfs is not allowed here: kernel.apparmor_restrict_unprivileged_userns is 1',
  ],
  ['fsopen', 'ENOSYS', {}, 'Linux 5.2'],
  ['move_mount', 'EACCES', {}, 'by a policy of the system'],
  ['uid_map', 'EPERM', { '/proc/self/status': ROOT_WITHOUT_CAPS }, 'run as another user'],
  [
    'uid_map',
    'EPERM',
    { '/proc/self/status': 'Uid:\t0\t7\t0\t0\nCapEff:\t0\n' },
    'by a policy of the system',
  ],
  [
    'unshare(CLONE_NEWNS)',
    'ENOSPC',
    { [`${SYSCTL}/user/max_mnt_namespaces`]: '3\n' },
    'max_mnt_namespaces is 3',
  ],
  ['mount(MS_SLAVE)', 'EINVAL', {}, 'chroot'],
])('%s, %s: why, and what to do instead', (call, code, files, words) => {
  const text = whyForbidden(
    call,
    code,
    (path) => Object.entries(files).find(([each]) => each === path)?.[1] ?? '',
  )
  expect(text).toContain(words)
  expect(text).toMatch(/; mirror into a directory that the workload mounts instead .*medium: Memory\)$/)
  expect(text).not.toContain('\n')
})

// proc_pid_stat(5): pid (comm) state ppid pgrp session tty_nr tpgid
test.each([
  ['on a terminal, in front', '7 (node) S 1 7 7 34816 7 0', true],
  ['on a terminal, in the background', '7 (node) S 1 7 7 34816 9 0', false],
  ['without a terminal', '7 (node) S 1 7 7 0 -1 0', false],
  ['with a name that looks like more', '7 (a) S 1 9 9 0 9) S 1 7 7 34816 7 0', true],
])('%s', (_, stat, expected) => {
  expect(isForegroundStat(stat)).toBe(expected)
})
