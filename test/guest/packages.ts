import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './command.ts'

/** A Linux kernel of Debian's, unpacked and not installed. */
export interface Kernel {
  image: string
  /** The directory of its modules, `.../kernel`. */
  modules: string
}

/** Beside npm's packages: git ignores the directory, and it is removed with them. */
export const CACHE = join(import.meta.dirname, '../../node_modules/.cache/guest')

/**
 * The kernel that a metapackage depends on at present, fetched unless it has been. The names of its ABI changes with every
 * security update, so none is written down here.
 */
export async function kernel(metapackage: string): Promise<Kernel> {
  const description = await command(['apt-cache', 'show', '--no-all-versions', metapackage])
  const name = /^Depends:.*?\b(linux-image-[\w.+-]+)/m.exec(description)?.[1]
  if (name === undefined) throw new Error(`${metapackage} depends on no kernel`)
  const directory = join(CACHE, name)
  if (!existsSync(directory)) await fetchPackages([name], directory)
  const version = name.slice('linux-image-'.length)
  return {
    image: join(directory, `boot/vmlinuz-${version}`),
    modules: join(directory, `lib/modules/${version}/kernel`),
  }
}

/**
 * Makes `directory` show what packages contain: all of it, or nothing if this is interrupted.
 *
 * @param options of apt-get
 */
export async function fetchPackages(
  names: string[],
  directory: string,
  options: string[] = [],
): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const staging = await mkdtemp(join(CACHE, 'fetching-'))
  try {
    // apt's user for downloads may not enter a directory of root's.
    const argv = ['-q', '-o', 'APT::Sandbox::User=root', ...options, 'download', ...names]
    await command(['apt-get', ...argv], staging)
    const content = join(staging, 'content')
    for (const archive of (await readdir(staging)).filter((each) => each.endsWith('.deb'))) {
      await command(['dpkg', '-x', join(staging, archive), content])
    }
    await rename(content, directory)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}
