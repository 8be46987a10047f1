import type { Mirror } from '../../src/mirror/mirror.ts'
import type { Skipped } from '../../src/mirror/plan/tree.ts'

/** Collects what a mirror says from now on. */
export function said(mirror: Mirror) {
  const heard = {
    states: [] as Array<[state: string, reason: string]>,
    errors: [] as Error[],
    skipped: [] as Skipped[],
    updates: [] as string[][],
  }
  mirror.on('state', (...state) => heard.states.push(state))
  mirror.on('error', (error) => heard.errors.push(error))
  mirror.on('skipped', (entry) => heard.skipped.push(entry))
  mirror.on('update', ({ changed }) => heard.updates.push(changed))
  return heard
}
