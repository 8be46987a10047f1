import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './command.ts'
import { CACHE, fetchPackages } from './packages.ts'

/**
 * The start of a command line for a program that is not installed: its path, and arguments before its own.
 */
export type Launcher = readonly [string, ...string[]]

/** Debian 12 has no package of the Rust virtiofsd; the next release has. */
const RELEASE = 'trixie'

/** virtiofsd and its libraries, with a C library that is newer than Debian 12's. */
const PACKAGES = ['virtiofsd', 'libc6', 'libcap-ng0', 'libseccomp2', 'libgcc-s1']

/**
 * Fetches the virtiofsd written in Rust, which Kata uses: only this one has the cache modes `never` and
 * `metadata`.
 */
export async function rustVirtiofsd(): Promise<Launcher> {
  const directory = join(CACHE, `virtiofsd-${RELEASE}`)
  if (!existsSync(directory)) {
    await mkdir(CACHE, { recursive: true })
    const lists = await mkdtemp(join(CACHE, 'lists-'))
    try {
      await fetchPackages(PACKAGES, directory, await otherRelease(lists))
    } finally {
      await rm(lists, { recursive: true, force: true })
    }
  }
  const libraries = join(directory, 'usr/lib/x86_64-linux-gnu')
  const loader = join(libraries, 'ld-linux-x86-64.so.2')
  return [loader, '--library-path', libraries, join(directory, 'usr/libexec/virtiofsd')]
}

/**
 * Returns apt's options for another release from this machine's sources, with lists in `apt`. This machine's
 * own lists do not change.
 */
async function otherRelease(apt: string): Promise<string[]> {
  const from = ['Created-By: Packages', 'Label: Debian', 'Component: main']
  const [uri] = (await command(['apt-get', 'indextargets', '--format', '$(REPO_URI)', ...from])).split('\n')
  if (!uri) throw new Error('apt has no source of Debian')
  for (const name of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(apt, name), { recursive: true })
  const sources = join(apt, 'sources.list')
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg'
  await writeFile(sources, `deb [signed-by=${keys}] ${uri} ${RELEASE} main\n`)
  const options = ['APT::Sandbox::User=root', `Dir::State::lists=${apt}/lists`, `Dir::Cache=${apt}/cache`]
  options.push(`Dir::Etc::sourcelist=${sources}`, 'Dir::Etc::sourceparts=-')
  const argv = options.flatMap((option) => ['-o', option])
  await command(['apt-get', '-q', ...argv, 'update'])
  return argv
}
