// A system whose mount table was recorded and whose files are imagined.
import { constants } from 'node:os'
import type { Holder } from '../../src/inotify/holders.ts'
import type { InotifyLimits } from '../../src/inotify/limits.ts'
import type { ExamineSystem } from '../../src/mounts/diagnosis/examine.ts'
import type { Seen } from '../../src/mounts/diagnosis/path_inspector.ts'
import { mountAt, parseMountinfo } from '../../src/mounts/mountinfo.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { tableText } from './fixture.ts'

export const LIMITS: InotifyLimits = {
  maxUserWatches: 1000,
  watchesLimitedBy: 'fs.inotify.max_user_watches',
  maxUserInstances: 128,
  instancesLimitedBy: 'fs.inotify.max_user_instances',
  maxQueuedEvents: 16384,
  watchesInUse: 12,
  instancesInUse: 3,
}

/** 'file'; 'gone', a file that has no name left; '-> TARGET'; an errno's name; 'silence', which is never answered. Directories are implied. */
export type Files = Record<string, string>

interface Imagined {
  files?: Files
  /** A kernel (before 5.8) that gives no mount's id. */
  withoutIds?: boolean
  version?: string
  cmdline?: string
  limits?: Partial<InotifyLimits>
  holders?: Holder[]
  refusal?: string
  mayRead?: boolean
}

const BARE = { link: '', links: 1n }

/** @param table the name of a recorded mount table */
export function imagine(table: string, imagined: Imagined = {}): ExamineSystem {
  const { files = {}, withoutIds = false, version = 'Linux version 6.1.0', cmdline = '' } = imagined
  const text = tableText(table)
  const rows = parseMountinfo(text)
  const devices = new Map(text.split('\n').map((line) => [Number(line.split(' ')[0]), line.split(' ')[2]]))

  function place(path: string): Pick<Seen, 'mount' | 'device'> {
    const id = mountAt(rows, path)?.id ?? 0
    const [major = 0, minor = 0] = (devices.get(id) ?? '').split(':').map(Number)
    return { mount: withoutIds ? 0 : id, device: (BigInt(major) << 32n) | BigInt(minor) }
  }

  async function look(path: string): Promise<Seen> {
    const what = files[path]
    if (what === 'silence') return new Promise(() => {})
    if (what === 'file') return { ...BARE, ...place(path), kind: 'file' }
    if (what === 'gone') return { ...BARE, ...place(path), kind: 'file', links: 0n }
    if (what?.startsWith('-> '))
      return { ...BARE, ...place(path.replace(/\/[^/]*$/, '') || '/'), kind: 'symlink', link: what.slice(3) }
    if (what !== undefined)
      throw new CallError(constants.errno[what as keyof typeof constants.errno], 'statx')
    const implied = [...Object.keys(files), ...rows.map(({ point }) => point)]
    if (!implied.some((known) => known === path || known.startsWith(path === '/' ? '/' : `${path}/`)))
      throw new CallError(constants.errno.ENOENT, 'statx')
    return { ...BARE, ...place(path), kind: 'directory' }
  }

  const names = async (directory: string) =>
    Object.keys(files)
      .filter((path) => path.startsWith(`${directory}/`))
      .map((path) => path.slice(directory.length + 1).split('/')[0] ?? '')

  return {
    sight: { look, reach: look, names, fType: async () => 0, end: () => {} },
    readMountinfo: () => text,
    kernel: () => ({ version, cmdline }),
    limits: () => ({ ...LIMITS, ...imagined.limits }),
    holders: () => imagined.holders ?? [],
    refusal: () => imagined.refusal,
    mayRead: () => imagined.mayRead ?? true,
  }
}

const TS = '..2024_05_17_09_12_44.1234567890'

/** The files of a ConfigMap, Secret or projected volume with these keys. */
export function volume(directory: string, ...keys: string[]): Files {
  const files: Files = { [`${directory}/..data`]: `-> ${TS}` }
  for (const key of keys) {
    files[`${directory}/${key}`] = `-> ..data/${key}`
    files[`${directory}/${TS}/${key}`] = 'file'
  }
  return files
}
