import { join, relative } from 'node:path'
import { CHANGES, type Parameters } from './behind.mjs'
import type { Answering, Request } from './channel.ts'
import type { Daemon } from './daemon.ts'
import { requestsIn } from './requests_log.ts'

/** Carries out the requests of the guest, in its share and nowhere else. */
export function hostChanges(share: string, daemon: Daemon): Answering {
  let resuming: NodeJS.Timeout | undefined
  let counted = 0
  const ofDaemon: Record<string, (request: Request) => Promise<unknown>> = {
    /** Resumes by itself, because a guest that hangs on the share cannot ask for that. */
    async stop({ ms }) {
      daemon.stop()
      resuming = setTimeout(() => daemon.resume(), Number(ms))
      resuming.unref()
    },

    /** Returns the requests since the last call, in groups that `gap` ms of silence separate. */
    async requests({ gap }) {
      const log = await daemon.log()
      const passes = requestsIn(log.slice(counted), Number(gap))
      counted = log.length
      return { passes }
    },
  }
  return async (request) => {
    const { operation, path } = request
    const own = ofDaemon[operation]
    if (own !== undefined) return own(request)
    const change = CHANGES[operation]
    if (change === undefined) throw new Error(`no such operation: ${operation}`)
    const target = join(share, String(path ?? ''))
    if (relative(share, target).startsWith('..')) throw new Error(`outside the share: ${String(path)}`)
    // The guest's scenarios and these changes have one author. A missing parameter throws at once.
    return change({ ...request, path: target } as unknown as Parameters)
  }
}
