import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './command.ts'
import { CACHE, fetchPackages } from './packages.ts'

/** What starts a program that is not installed: its path, and what comes before its arguments. */
export type Launcher = readonly [string, ...string[]]

/** Debian 12 has no package of it, the next release has. */
const RELEASE = 'trixie'

/** virtiofsd, and what it is linked against, the C library included, which is newer than Debian 12's. */
const PACKAGES = ['virtiofsd', 'libc6', 'libcap-ng0', 'libseccomp2', 'libgcc-s1']

/** The virtiofsd written in Rust, which Kata uses: it alone has the cache modes `never` and `metadata`. */
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

/** apt's options for another release from where this machine has its own, with lists in `apt`: this machine's stay as they are. */
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
