/** A mount, as a row of /proc/self/mountinfo (proc(5)) has it. `id` 0 and `point` '': the kernel did not say. */
export interface Mount {
  /** The kernel's number of this mount. */
  id: number
  /** The mount point, as seen from this process's root. */
  point: string
  /** The part of the filesystem that is mounted: '/', a bind's or a subvolume's path, or a path that ends in '//deleted' where it is gone. */
  root: string
  /** The type: 'ext4', 'virtiofs', 'fuse.bindfs'. */
  type: string
  /** The device, the tag or the server's path; often 'none', and may be ''. */
  source: string
  /** The mount's own options, then those of its superblock that it does not repeat. */
  options: string[]
}

/** A row of the mount table: the parent is what tells which of two mounts hides the other. */
export interface MountRow extends Mount {
  parent: number
}

/** The fields in front of the optional ones: id, parent, major:minor, root, point, options. */
const FIXED_FIELDS = 6

// The table hardly ever changes, and each of many watchers reads it.
let last: { text: string; rows: readonly MountRow[] } = { text: '', rows: [] }

/**
 * The rows of a mountinfo text (proc_pid_mountinfo(5)) in its order. A line that is none is left out: one
 * strange mount must not hide the others.
 */
export function parseMountinfo(text: string): readonly MountRow[] {
  if (text !== last.text) {
    const rows = text.split('\n').map(parseRow)
    last = { text, rows: rows.filter((row) => row !== undefined) }
  }
  return last.rows
}

/** The row without what is of no use outside of the table. The caller may change it. */
export function toMount({ id, point, root, type, source, options }: Mount): Mount {
  return { id, point, root, type, source, options: [...options] }
}

/**
 * The mount that a path lies on; undefined if the table does not cover it (in a chroot that is no mount
 * point). The path is absolute, without symlinks, '.' or '..'.
 *
 * This walks as the kernel does: from the mount of the root, at the first mount point on the way into the
 * mount on it, from there on among that mount's own children only. So what a later mount hides (/a/b, when
 * something was then mounted over /a) is never reached, and of mounts stacked on one point the uppermost is:
 * each is a child of the one below.
 */
export function mountAt(mounts: readonly MountRow[], path: string): MountRow | undefined {
  const children = childrenOf(mounts)
  const way = waysTo(path)
  const visited = new Set<number>()
  let current: MountRow | undefined
  let next = firstOn(way, children.get(ROOT))
  while (next !== undefined && !visited.has(next.id)) {
    current = next
    visited.add(current.id)
    next = firstOn(way, children.get(current.id))
  }
  return current
}

/** Returns the path and all directories above it, from '/' on. */
function waysTo(path: string): string[] {
  const way = ['/']
  for (let end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1)) way.push(path.slice(0, end))
  if (path !== '/') way.push(path)
  return way
}

/** Returns the mount whose mount point a walk from the root meets first. */
function firstOn(way: readonly string[], mounts: ReadonlyMap<string, MountRow> | undefined) {
  const point = way.find((each) => mounts?.has(each))
  return point === undefined ? undefined : mounts?.get(point)
}

/** By the parent's id, then by mount point; of several on one point the one mounted last. */
type Children = ReadonlyMap<number, ReadonlyMap<string, MountRow>>

const ROOT = -1
const known = new WeakMap<readonly MountRow[], Children>()

function childrenOf(mounts: readonly MountRow[]): Children {
  const found = known.get(mounts)
  if (found !== undefined) return found
  const ids = new Set(mounts.map(({ id }) => id))
  const children = new Map<number, Map<string, MountRow>>()
  for (const mount of mounts) {
    // The root's parent is either itself or out of this process's sight.
    const isRoot = mount.parent === mount.id || !ids.has(mount.parent)
    const parent = isRoot ? ROOT : mount.parent
    const siblings = children.get(parent) ?? new Map<string, MountRow>()
    children.set(parent, siblings.set(mount.point, mount))
  }
  known.set(mounts, children)
  return children
}

/** Returns true if a path is the directory or lies below it, by whole components: '/ab' is not within '/a'. */
export function isWithin(path: string, directory: string): boolean {
  if (directory === '/') return path.startsWith('/')
  return path === directory || path.startsWith(`${directory}/`)
}

/** The row of one line; undefined of a line that is none. */
function parseRow(line: string): MountRow | undefined {
  // Split at each single space: a source that is '' leaves two of them in a row.
  const fields = line.split(' ')
  const [id, parent, device, root, point, own] = fields
  // The optional fields (shared:1, master:2, ...) may be none or many, and kernels to come may add more.
  const separator = fields.indexOf('-', FIXED_FIELDS)
  const [type, source, ...superblock] = separator < 0 ? [] : fields.slice(separator + 1)
  if (!isNumber(id) || !isNumber(parent) || device === undefined || root === undefined) return undefined
  if (!point?.startsWith('/') || own === undefined || !type || source === undefined) return undefined
  return {
    id: Number(id),
    parent: Number(parent),
    root: unescapeOctal(root),
    point: unescapeOctal(point),
    type: unescapeOctal(type),
    source: unescapeOctal(source),
    options: [...new Set([...parseOptions(own), ...parseOptions(superblock.join(' '))])],
  }
}

function isNumber(field: string | undefined): field is string {
  return field !== undefined && /^\d+$/.test(field)
}

/** Splits first: a comma within an option's value is escaped (overlay's lowerdir). */
function parseOptions(field: string): string[] {
  return field.split(',').filter(Boolean).map(unescapeOctal)
}

/**
 * The kernel writes space, tab, newline, backslash, '#' and in options '=' and ',' as octal; all else as it
 * is.
 */
function unescapeOctal(field: string): string {
  return field.replace(/\\([01][0-7]{2})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}
