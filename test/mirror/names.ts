// Lists a target: the names that a mirror shows there, and the mirror's own.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const OWN = '.inotify-bridge-'

/** Returns the names that consumers see: all but that of the mirror's own directory. */
export async function shownIn(target: string): Promise<string[]> {
  return (await readdir(target)).filter((name) => !name.startsWith(OWN)).sort()
}

/** The path of the mirror's own directory, in which it makes ready and notes down what it has made. */
export async function stagingIn(target: string): Promise<string> {
  const [name = ''] = (await readdir(target)).filter((name) => name.startsWith(OWN))
  return join(target, name)
}
