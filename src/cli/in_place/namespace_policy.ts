import { readOrEmpty } from '../../mounts/diagnosis/other_namespace.ts'

/** Reads a file of /proc; '' where there is none. */
type Read = (path: string) => string

const INSTEAD =
  'mirror into a directory that the workload mounts instead (mirror SOURCE TARGET; in Kubernetes an emptyDir with medium: Memory)'

/** The settings that forbid user namespaces, each with its forbidding value. */
const SETTINGS = [
  ['user.max_user_namespaces', '0'],
  ['kernel.unprivileged_userns_clone', '0'],
  ['kernel.apparmor_restrict_unprivileged_userns', '1'],
] as const

/**
 * Returns why a mount namespace with a mount in it cannot be had, and the alternative. The kernel gives the same few errnos for all
 * reasons, so the reasons that are in force here are named.
 */
export function whyForbidden(call: string, code: string, read: Read = readOrEmpty): string {
  return `${reason(call, code, read)}; ${INSTEAD}`
}

function reason(call: string, code: string, read: Read): string {
  if (call.startsWith('fs') || call === 'move_mount') {
    if (code === 'ENOSYS') return 'this needs Linux 5.2, or a seccomp profile that allows the call'
    return `mounting a tmpfs is not allowed here${policies(read)}`
  }
  if (call === 'unshare(CLONE_NEWNS)')
    return code === 'ENOSPC'
      ? `a mount namespace cannot be had: user.max_mnt_namespaces is ${read('/proc/sys/user/max_mnt_namespaces').trim() || 'not known'}`
      : `a mount namespace cannot be had${policies(read)}`
  if (call === 'mount(MS_SLAVE)')
    return code === 'EINVAL'
      ? "the root directory is no mount point, as in a chroot: the namespace cannot be kept from changing others' mounts"
      : `mounting is not allowed here${policies(read)}`
  const without = 'there is no CAP_SYS_ADMIN, and a user namespace, which would do, cannot be had'
  const status = read('/proc/self/status')
  // user_namespaces(7): a process that maps user 0 of the outer namespace must have had CAP_SETFCAP there, which is bit 31.
  const lacksIt = /^CapEff:\s*[0-9a-f]*[0-7][0-9a-f]{7}$/m.test(status)
  if (call === 'uid_map' && lacksIt && /^Uid:\s*\d+\s+0\s/m.test(status))
    return `${without}: user 0 without CAP_SETFCAP cannot be mapped (run as another user)`
  return `${without}${policies(read)}`
}

function policies(read: Read): string {
  const isInForce = ([name, forbids]: (typeof SETTINGS)[number]) =>
    read(`/proc/sys/${name.replace('.', '/')}`).trim() === forbids
  const found = SETTINGS.filter(isInForce).map(([name, forbids]) => `${name} is ${forbids}`)
  // proc_pid_status(5): 2 is SECCOMP_MODE_FILTER.
  if (/^Seccomp:\s*2$/m.test(read('/proc/self/status'))) found.push('a seccomp filter is in force')
  const confined = read('/proc/self/attr/current').split('\0')[0]?.trim()
  if (confined && confined !== 'unconfined')
    found.push(`the security module confines this process as ${confined}`)
  return found.length === 0 ? ' (by a policy of the system)' : `: ${found.join(', and ')}`
}
