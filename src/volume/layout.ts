/** The symlink by which all keys are reached, so that one rename swaps them at once. */
export const DATA = '..data'
/** The name from which `..data` is renamed. Consumers and their filters know it. */
export const DATA_NEXT = '..data_tmp'

/**
 * The ms that a redirected link is waited for before its old target goes: openat(2) reads the link and looks up what it leads to in two
 * steps, between which a reader may have to wait for a processor.
 */
export const PARTING = 10

/** Go's MkdirTemp ends it with digits, mkdtemp(3) with letters too. */
const VERSION = /^\.\.\d{4}(_\d{2}){5}\.[0-9A-Za-z]+$/

/** Returns true for the name of a version directory. */
export function isVersionName(name: string): boolean {
  return VERSION.test(name)
}

/** Returns the text of the link of a key, or of the directory that its path begins with. */
export function linkText(name: string): string {
  return `${DATA}/${name}`
}

/** Returns the entry beside a link that the link's text leads to; undefined if that lies elsewhere. */
export function nameBeside(text: string): string | undefined {
  // Another tool, or a hand, may have written the link with './' or a slash at the end.
  const name = text.replace(/^(\.\/+)+/, '').replace(/\/+$/, '')
  return name.includes('/') || ['', '.', '..'].includes(name) ? undefined : name
}

/** Returns true for a name that no key may have, as it begins with two dots: the AtomicWriter's own do. */
export function isReserved(name: string): boolean {
  return name.startsWith('..')
}

/** Returns true for an entry that is no key. Without a `..data`, before the first swap, the names that the AtomicWriter is about to make are none. */
export function isInternal(name: string, hasData: boolean): boolean {
  return hasData ? isReserved(name) : name === DATA || name === DATA_NEXT || isVersionName(name)
}
