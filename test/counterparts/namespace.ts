import { spawnSync } from 'node:child_process'

/**
 * For unshare(1): a pid namespace whose process 1 is what follows, as a user without any capability: the container of a pod that says
 * runAsNonRoot. As root nginx would change its workers' user, which a namespace of one user does not have.
 */
export const AS_PROCESS_1 = [
  ...['-U', '--map-user=1000', '--map-group=1000'],
  ...['-pmf', '--mount-proc', '--kill-child'],
]

/** Whether this user may make such a namespace. */
export const mayBeProcess1 = spawnSync('unshare', [...AS_PROCESS_1, 'true']).status === 0
