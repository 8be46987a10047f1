// vitest's global setup: what all guests have in common is made once, and the directory of the run goes with it, whatever happens
// to the process that runs the tests.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { MODULES, makeInitramfs } from './initramfs.ts'
import { kernel } from './packages.ts'
import { missing } from './requirements.ts'

/** What a guest is started from. */
export interface Prepared {
  /** Why there is none, else ''. */
  missing: string
  image: string
  initramfs: string
  /** For sockets, logs and shares. */
  directory: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    guest: Prepared
  }
}

export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'inotify-bridge-guest-'))
  const initramfs = join(directory, 'initramfs')
  let reason = missing() ?? ''
  let image = ''
  if (reason === '') {
    try {
      const fetched = await kernel('linux-image-cloud-amd64')
      image = fetched.image
      await makeInitramfs(fetched, MODULES, initramfs)
    } catch (error) {
      // No network, or no package lists: then there are no tests, as where QEMU is missing.
      reason = `no kernel for the guest: ${String(error).split('\n').slice(0, 2).join(' ')}`
    }
  }
  project.provide('guest', { missing: reason, image, initramfs, directory })
  return () => rm(directory, { recursive: true, force: true })
}
