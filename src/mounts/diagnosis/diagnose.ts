import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Holder } from '../../inotify/holders.ts'
import { type InotifyLimits, inotifyHolders, inotifyLimits } from '../../inotify/limits.ts'
import { type Backend, type Capability, capability } from '../filesystems.ts'
import { type Mount, parseMountinfo } from '../mountinfo.ts'
import { chooseAmong } from '../mounts_on_path.ts'
import { advise } from './advice.ts'
import { type Environment, type KernelFacts, recognise } from './environment.ts'
import { type Findings, volumeOf } from './findings.ts'
import { openPathInspector } from './path_inspector.ts'
import { type Finder, type PathResolution, resolveWithDeadline } from './path_resolution.ts'
import { originOf, pinnedBy, type SingleFileMount } from './single_file_mount.ts'
import { judge, type Verdict } from './verdict.ts'

/** What a path can and cannot deliver, and why. */
export interface Diagnosis {
  /** As it was given. */
  path: string
  realPath: string
  /**
   * The mount that each symlink followed on the way lies on, in order, the same one twice in a row only once.
   * Whoever can change such a link changes what the path means, so a silent mount among them is a reason to
   * poll. Empty without links.
   */
  hops: Mount[]
  /** The mount of the real path. */
  mount: Mount
  /** Whether changes made through {@link mount} by this kernel are delivered. */
  local: Capability['local']
  /** Whether changes made by others behind {@link mount} are delivered: never, at best there are none. */
  remote: Capability['remote']
  /**
   * 'static': a single-file mount (Kubernetes' subPath), which will not follow when its source is replaced.
   * 'stale': its source has been replaced or deleted.
   */
  pinned: SingleFileMount
  /**
   * What watch() uses for this path by itself: the most that {@link mount} or one of the {@link hops} needs.
   */
  backend: Backend
  /** One sentence each. */
  reasons: string[]
  /** What to do about it, one item each, with the line to change; empty if all is well. */
  advice: string[]
  /** This user's, as far as this process may see. */
  limits: InotifyLimits
}

/** A diagnosis, and what a person is told beside it. */
export interface Examination {
  readonly diagnosis: Diagnosis
  readonly verdict: Verdict
  readonly route: PathResolution
  /** The way to the directory that the path is, or lies in. */
  readonly directory: PathResolution
  readonly environments: readonly Environment[]
  /** Who has watches, the one with most first. */
  readonly holders: readonly Holder[]
}

/** What an examination asks of the system. */
export interface ExamineSystem extends Finder {
  kernel(): KernelFacts
  limits(): InotifyLimits
  holders(): readonly Holder[]
}

/**
 * Says what an existing path can and cannot deliver and why. Reads only; writes no probe.
 *
 * Rejects with an InotifyError (code, errno, syscall 'statx', path, hint) if the path cannot be reached: ETIMEDOUT where a mount on
 * the way has not answered for 4 s.
 */
export async function diagnose(path: string): Promise<Diagnosis> {
  return (await examineHere(path)).diagnosis
}

/** {@link diagnose}, with all that it has found. */
export async function examineHere(path: string): Promise<Examination> {
  const sight = openPathInspector()
  try {
    return await examine(path, { ...linux, sight })
  } finally {
    sight.end()
  }
}

const linux: Omit<ExamineSystem, 'sight'> = {
  // Lossy for names that are not UTF-8, as paths are: the two are compared.
  readMountinfo: () => readOrEmpty('/proc/self/mountinfo'),
  kernel: () => ({ version: readOrEmpty('/proc/version'), cmdline: readOrEmpty('/proc/cmdline') }),
  limits: inotifyLimits,
  holders: inotifyHolders,
}

/** The examination of a path on a given system. */
export async function examine(path: string, system: ExamineSystem, patience?: number): Promise<Examination> {
  const route = await resolveWithDeadline(path, system, patience)
  const { realPath, hops, mount, all, seen } = route
  const isDirectory = seen.kind === 'directory'
  const directory = isDirectory ? route : await resolveWithDeadline(dirname(realPath), system, patience)
  const environments = recognise(parseMountinfo(system.readMountinfo()), system.kernel())
  const findings: Findings = {
    path: resolve(path),
    route,
    pinned: pinnedBy(mount, realPath, { regular: seen.kind === 'file', links: seen.links }),
    volume: volumeOf(route),
    environments,
    limits: system.limits(),
    holders: system.holders(),
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
    reasons: [...all.map(aboutMount), ...aboutPin(findings), ...environments.flatMap(aboutEnvironment)],
    advice: advise(findings),
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

/** A container's being one is no reason for anything. */
function aboutEnvironment({ name, how, means }: Environment): string[] {
  return name === 'container' ? [] : [`This is ${name} (${how}): ${means}.`]
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
