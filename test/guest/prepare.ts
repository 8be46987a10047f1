// vitest's global setup: what all guests have in common is made once, and the directory of the run goes with it, whatever happens
// to the process that runs the tests.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { MODULES, MODULES_OF_9P, MODULES_OF_NFS, makeInitramfs } from './initramfs.ts'
import { kernel } from './packages.ts'
import { missing } from './requirements.ts'
import { type Launcher, rustVirtiofsd } from './rust_virtiofsd.ts'

/** What can be had, or why it cannot. */
export type Obtained<T> = { got: T; missing: '' } | { got: undefined; missing: string }

/** What a guest's kernel is started from. */
export interface Boot {
  image: string
  initramfs: string
}

/** What guests are started from. */
export interface Prepared {
  /** Debian's kernel for virtual machines. */
  boot: Obtained<Boot>
  /** The kernel for all machines, with 9p. */
  full: Obtained<Boot>
  /** The same kernel with NFS. */
  nfs: Obtained<Boot>
  /** The daemon that Debian 12 does not have. */
  rust: Obtained<Launcher>
  /** For sockets, logs and shares. */
  directory: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    guest: Prepared
  }
}

export default async function prepare(project: TestProject): Promise<() => void> {
  const directory = await mkdtemp(join(tmpdir(), 'inotify-bridge-guest-'))
  const boot = await obtain('no kernel for the guest', () =>
    prepareBoot('linux-image-cloud-amd64', MODULES, join(directory, 'initramfs')),
  )
  const full = await obtain('no kernel with 9p', () =>
    prepareBoot('linux-image-amd64', [...MODULES, ...MODULES_OF_9P], join(directory, 'initramfs-9p')),
  )
  const nfs = await obtain('no kernel with NFS', () =>
    prepareBoot('linux-image-amd64', [...MODULES, ...MODULES_OF_NFS], join(directory, 'initramfs-nfs')),
  )
  const rust = await obtain('no Rust virtiofsd', rustVirtiofsd)
  project.provide('guest', { boot, full, nfs, rust, directory })
  // An interrupt ends vitest without the teardown.
  process.once('exit', () => removeTraces(directory))
  return () => removeTraces(directory)
}

/** Where the C daemon keeps a file for each socket, by which it makes sure that it is alone, and leaves it. */
const LOCKS = '/run/virtiofsd'

function removeTraces(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
  for (const name of existsSync(LOCKS) ? readdirSync(LOCKS) : []) {
    if (name.startsWith(`${directory.replaceAll('/', '.')}.`)) rmSync(join(LOCKS, name), { force: true })
  }
}

async function prepareBoot(metapackage: string, names: string[], initramfs: string): Promise<Boot> {
  const { image, modules } = await kernel(metapackage)
  await makeInitramfs(modules, names, initramfs)
  return { image, initramfs }
}

/** No network, or no package lists, are no failure: then there are no tests, as where QEMU is missing. */
async function obtain<T>(what: string, means: () => Promise<T>): Promise<Obtained<T>> {
  const reason = missing()
  if (reason !== undefined) return { got: undefined, missing: reason }
  try {
    return { got: await means(), missing: '' }
  } catch (error) {
    return { got: undefined, missing: `${what}: ${String(error).split('\n').slice(0, 2).join(' ')}` }
  }
}
