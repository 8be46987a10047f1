import { accessSync, constants } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { addonOrError } from '../../addon.ts'
import { AddonLoadError } from '../../errors.ts'
import type { Holder } from '../../inotify/holders.ts'
import { type InotifyLimits, inotifyHolders, inotifyLimits } from '../../inotify/limits.ts'
import { inotifyRefusal } from '../../inotify/refusal.ts'
import { capability, mayHang } from '../filesystems.ts'
import { type Mount, parseMountinfo } from '../mountinfo.ts'
import { chooseAmong } from '../mounts_on_path.ts'
import { advise } from './advice.ts'
import type { Diagnosis } from './diagnosis.ts'
import { type Environment, type KernelFacts, recognise } from './environment.ts'
import { type Findings, silentBelow, volumeOf } from './findings.ts'
import { asInside, mountinfoOf, processRoot, readOrEmpty } from './other_namespace.ts'
import { openPathInspector } from './path_inspector.ts'
import { type Finder, type PathResolution, resolveWithDeadline } from './path_resolution.ts'
import { originOf, pinnedBy } from './single_file_mount.ts'
import { judge, type Verdict } from './verdict.ts'

/** A diagnosis, and the facts that are shown to a person beside it. */
export interface Examination {
  readonly diagnosis: Diagnosis
  readonly verdict: Verdict
  readonly route: PathResolution
  /** The way to the directory that the path is, or lies in. */
  readonly directory: PathResolution
  readonly environments: readonly Environment[]
  /** The processes that have watches, the one with most first. */
  readonly holders: readonly Holder[]
}

/** The questions of an examination to the system. */
export interface ExamineSystem extends Finder {
  kernel(): KernelFacts
  limits(): InotifyLimits
  holders(): readonly Holder[]
  /** The reason why this process can get no watch, in one sentence. */
  refusal(): string | undefined
  /** Returns true if this user may read a path on a mount that no server answers for. */
  mayRead(path: string): boolean
}

/** Returns diagnose()'s answer (../diagnose.ts) with all findings. */
export async function examineHere(path: string): Promise<Examination> {
  const sight = openPathInspector()
  try {
    const found = await examine(path, { ...linux, sight, readMountinfo: () => mountinfoOf(path) })
    const addon = addonOrError()
    // A person who diagnoses a path goes on to watch(), which needs the addon.
    if (addon instanceof AddonLoadError) found.diagnosis.advice.push(addon.message.replaceAll('\n', ' '))
    return found
  } finally {
    sight.end()
  }
}

const linux: Omit<ExamineSystem, 'sight' | 'readMountinfo'> = {
  kernel: () => ({ version: readOrEmpty('/proc/version'), cmdline: readOrEmpty('/proc/cmdline') }),
  limits: inotifyLimits,
  holders: inotifyHolders,
  refusal: () => inotifyRefusal()?.hint,
  mayRead: (path) => {
    try {
      accessSync(path, constants.R_OK)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'EACCES'
    }
  },
}

/** The examination of a path on a given system. */
export async function examine(path: string, system: ExamineSystem, patience?: number): Promise<Examination> {
  const route = await resolveWithDeadline(path, system, patience)
  const { realPath, hops, mount, all, seen } = route
  const isDirectory = seen.kind === 'directory'
  const directory = isDirectory ? route : await resolveWithDeadline(dirname(realPath), system, patience)
  const table = parseMountinfo(system.readMountinfo())
  const environments = recognise(table, system.kernel())
  const findings: Findings = {
    path: resolve(path),
    route,
    pinned: pinnedBy(mount, realPath, { regular: seen.kind === 'file', links: seen.links }),
    volume: volumeOf(route),
    below: silentBelow(route, table),
    environments,
    limits: system.limits(),
    holders: system.holders(),
    refusal: system.refusal(),
    isReadable: mayHang(mount) || system.mayRead(realPath),
  }
  const { local, remote } = capability(mount)
  const { pinned, limits, holders } = findings
  const diagnosis: Diagnosis = {
    path,
    realPath,
    hops,
    mount,
    local,
    remote,
    pinned,
    backend: chooseAmong(all).backend,
    reasons: [
      ...(findings.refusal === undefined ? [] : [`${findings.refusal}.`]),
      ...[...all, ...findings.below].map(aboutMount),
      ...aboutPin(findings),
      ...environments.flatMap(aboutEnvironment),
    ],
    advice: advise(findings).map((line) => asInside(line, processRoot(path))),
    limits,
  }
  return { diagnosis, verdict: judge(findings), route, directory, environments, holders }
}

function aboutMount(mount: Mount): string {
  const { local, remote, why } = capability(mount)
  const verdict = `local changes ${local}, remote changes ${remote}`
  return `${mount.point || 'The mount'} is ${mount.type} (${verdict}): ${why}.`
}

function aboutPin({ pinned, route }: Findings): string[] {
  if (pinned === 'no') return []
  const { mount, seen } = route
  const origin = originOf(mount)
  const what =
    origin.by === 'kubelet' ? `a subPath of a volume${origin.name && ` ('${origin.name}')`}` : 'a single file'
  if (pinned === 'static')
    return [`${mount.point} is a mount of ${what}: it keeps the file that it was made of.`]
  const how = mount.root.endsWith('//deleted')
    ? "the mount table has '//deleted' behind its root"
    : `the file that it shows has ${seen.links} names left`
  return [`${mount.point} is a mount of ${what}, and what it was made of is gone: ${how}.`]
}

/** Omits 'container': to be one is no reason for anything. */
function aboutEnvironment({ name, how, means }: Environment): string[] {
  return name === 'container' ? [] : [`This is ${name} (${how}): ${means}.`]
}
