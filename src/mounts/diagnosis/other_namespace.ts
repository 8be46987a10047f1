import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Returns the beginning of a path that leads into the mount namespace of a process, /proc/PID/root (proc(5)); '' for any other path. It is how one
 * container is asked about from another one (kubectl debug --target).
 */
export function processRoot(path: string): string {
  return /^\/proc\/\d+\/root(?=\/|$)/.exec(resolve(path))?.[0] ?? ''
}

/**
 * Reads the mount table that a path lies in. Behind /proc/PID/root it is that of the process, with its mount points as this process reaches them:
 * the kernel numbers mounts over all namespaces, and a mount of another one is in no other table. Lossy for
 * names that are not UTF-8, as paths are: the two are compared. '' if there is none.
 */
export function mountinfoOf(path: string): string {
  const root = processRoot(path)
  const theirs = root === '' ? '' : readOrEmpty(`${dirname(root)}/mountinfo`)
  if (theirs === '') return readOrEmpty('/proc/self/mountinfo')
  return theirs.replace(/^((?:\S+ ){4})(\/\S*)/gm, (_, fields: string, point: string) =>
    point === '/' ? `${fields}${root}` : `${fields}${root}${point}`,
  )
}

/** Names paths as the process itself does: advice is for its manifest. */
export function asInside(text: string, root: string): string {
  return root === '' ? text : text.replaceAll(`${root}/`, '/').replaceAll(root, '/')
}

export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
