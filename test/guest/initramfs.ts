import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { PROGRAMS } from './requirements.ts'

/**
 * The modules, each after those that it needs: the package lacks modules.dep, which depmod writes at the
 * installation, so insmod needs this order.
 */
export const MODULES = [
  'virtio_ring',
  'virtio',
  'virtio_pci_modern_dev',
  'virtio_pci_legacy_dev',
  'virtio_pci',
  'virtio_console',
  'fuse',
  'virtiofs',
  'overlay',
]

/** The modules of 9p, which the kernel for virtual machines lacks. */
export const MODULES_OF_9P = ['netfs', 'fscache', '9pnet', '9pnet_virtio', '9p']

/** The modules of both ends of NFS 4, and of the exported file systems. */
export const MODULES_OF_NFS = [
  'nls_cp437',
  'nls_ascii',
  'fat',
  'vfat',
  'crc32c_generic',
  'crc16',
  'mbcache',
  'jbd2',
  'ext4',
  'loop',
  'sunrpc',
  'grace',
  'lockd',
  'auth_rpcgss',
  'nfs_acl',
  'nfsd',
  'netfs',
  'fscache',
  'nfs',
  'dns_resolver',
  'nfsv4',
]

/**
 * Writes the file system that the guest starts from: busybox, init.sh and modules from somewhere below the
 * kernel's `directory`.
 */
export async function makeInitramfs(directory: string, modules: string[], path: string): Promise<void> {
  const root = await mkdtemp(`${path}-`)
  try {
    for (const directory of ['bin', 'dev', 'host', 'modules', 'proc']) await mkdir(join(root, directory))
    await copyFile(PROGRAMS.busybox.path, join(root, 'bin/busybox'))
    await copyFile(join(import.meta.dirname, 'guest/init.sh'), join(root, 'init'))
    await chmod(join(root, 'init'), 0o755)
    const paths = await readdir(directory, { recursive: true })
    for (const name of modules) {
      const file = paths.find((each) => each.endsWith(`/${name}.ko`))
      if (file === undefined) throw new Error(`the kernel has no module ${name}`)
      await copyFile(join(directory, file), join(root, `modules/${name}.ko`))
    }
    await writeFile(join(root, 'modules/order'), modules.map((name) => `${name}\n`).join(''))
    await archive(root, path)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

/** Writes a "newc" archive, the only format that the kernel unpacks. */
async function archive(root: string, path: string): Promise<void> {
  const names = ['.', ...(await readdir(root, { recursive: true }))]
  const cpio = spawn(PROGRAMS.cpio.path, ['--quiet', '-0', '-o', '-H', 'newc'], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  cpio.stdin.end(names.join('\0'))
  const [[code]] = await Promise.all([once(cpio, 'exit'), pipeline(cpio.stdout, createWriteStream(path))])
  if (code !== 0) throw new Error(`cpio: exit code ${code}`)
}
