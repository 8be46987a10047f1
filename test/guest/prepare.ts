// vitest's global setup: makes the files that all guests share once. The directory of the run is removed at
// the end, whatever happens to the process that runs the tests.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { MODULES, MODULES_OF_9P, MODULES_OF_NFS, makeInitramfs } from './initramfs.ts'
import { kernel } from './packages.ts'
import { missing } from './requirements.ts'
import { type Launcher, rustVirtiofsd } from './rust_virtiofsd.ts'

/** A thing that a guest needs, or the reason why it is missing. */
export type Obtained<T> = { got: T; missing: '' } | { got: undefined; missing: string }

/** The files that a guest's kernel starts from. */
export interface Boot {
  image: string
  initramfs: string
}

/** The things that guests need. */
export interface Prepared {
  /** Debian's kernel for virtual machines. */
  boot: Obtained<Boot>
  /** The kernel for all machines, with 9p. */
  full: Obtained<Boot>
  /** The same kernel with NFS. */
  nfs: Obtained<Boot>
  /** The Rust daemon, which Debian 12 lacks. */
  rust: Obtained<Launcher>
  /** Holds sockets, logs and shares. */
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

/** The directory in which the C daemon keeps a lock file for each socket, and leaves it. */
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

/** A missing network or missing package lists are no failure: the tests are skipped, as without QEMU. */
async function obtain<T>(what: string, means: () => Promise<T>): Promise<Obtained<T>> {
  const reason = missing()
  if (reason !== undefined) return { got: undefined, missing: reason }
  try {
    return { got: await means(), missing: '' }
  } catch (error) {
    return { got: undefined, missing: `${what}: ${String(error).split('\n').slice(0, 2).join(' ')}` }
  }
}
