import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The programs that start the guest, from Debian 12's packages. */
export const PROGRAMS = {
  qemu: { package: 'qemu-system-x86', path: inPath('qemu-system-x86_64') },
  // Debian's qemu-system-common has the C implementation, outside PATH.
  virtiofsd: { package: 'qemu-system-common', path: '/usr/lib/qemu/virtiofsd' },
  busybox: { package: 'busybox-static', path: inPath('busybox') },
  cpio: { package: 'cpio', path: inPath('cpio') },
  apt: { package: 'apt', path: inPath('apt-get') },
  dpkg: { package: 'dpkg', path: inPath('dpkg') },
  setpriv: { package: 'util-linux', path: inPath('setpriv') },
} as const

const REPOSITORY = join(import.meta.dirname, '../..')

/** Returns the reason why no guest can be started here, or undefined. */
export function missing(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the guest is x86-64 Linux'
  // Root is needed for virtiofsd's sandbox, and for a daemon that may read all of the root directory.
  if (process.getuid?.() !== 0) return 'needs root'
  const absent = Object.values(PROGRAMS).filter(({ path }) => !existsSync(path))
  if (absent.length > 0) return `needs Debian's ${absent.map((each) => each.package).join(', ')}`
  if (!existsSync(join(REPOSITORY, 'dist/index.js'))) return 'needs dist: npm run build'
  // init.sh mounts a tmpfs on /mnt.
  if (`${REPOSITORY}/`.startsWith('/mnt/')) return 'the guest covers /mnt, where this repository lies'
  return undefined
}

/**
 * Returns the reason why a program is missing that one suite needs and that the guest has from the host, or
 * ''.
 */
export function lacking(program: string): string {
  return existsSync(inPath(program)) ? '' : `needs ${program}`
}

function inPath(name: string): string {
  const directories = (process.env.PATH ?? '').split(delimiter)
  const found = directories.map((directory) => join(directory, name)).find((path) => existsSync(path))
  return found ?? join('/usr/bin', name)
}
