import type { Holder } from '../../inotify/holders.ts'
import type { Examination } from '../../mounts/diagnosis/examine.ts'
import type { Probe } from '../../mounts/diagnosis/probe.ts'
import type { RenameCheck } from '../../mounts/diagnosis/rename_check.ts'
import type { Mount } from '../../mounts/mountinfo.ts'
import type { Unanswered } from './examiner.ts'
import { headline, type Paper, row } from './page.ts'

/** The number of watch holders that are named. */
const NAMED = 3

/** Returns the lines of an examination: the verdict, then its grounds, then what to do. */
export function diagnosisLines(found: Examination, probe: Probe | undefined, paper: Paper): string[] {
  const { diagnosis, verdict, route, environments, holders } = found
  const { path, realPath, mount, local, remote, pinned, backend, reasons, advice, limits } = diagnosis
  const rows: Array<[string, string]> = []
  if (realPath !== path) rows.push(['leads to', realPath])
  for (const link of route.links) {
    rows.push([
      'link',
      `${link.path} -> ${link.to}, on ${link.mount.type} at ${link.mount.point || '(not in this mount table)'}`,
    ])
  }
  rows.push(['mount', describe(mount)])
  rows.push(['local', LOCAL[local]])
  rows.push(['remote', REMOTE[remote]])
  if (pinned !== 'no') rows.push(['pinned', PINNED[pinned]])
  if (probe !== undefined) rows.push(['probe', `${probe.result}: ${probe.why}`])
  rows.push(['backend', `${backend}, if watch() is left to choose`])
  rows.push([
    'limits',
    `${limits.watchesInUse} of ${limits.maxUserWatches} watches${ofNamespace(limits.watchesLimitedBy)}, ` +
      `${limits.instancesInUse} of ${limits.maxUserInstances} instances${ofNamespace(limits.instancesLimitedBy)} ` +
      `in use by this user, as far as can be seen; a queue takes ${limits.maxQueuedEvents} events`,
  ])
  if (holders.length > 0) rows.push(['held by', holders.slice(0, NAMED).map(held).join('; ')])
  for (const { name, how } of environments) rows.push(['here', `${name}: ${how}`])
  return [
    ...headline(`${path}: ${verdict.text}`, verdict.level, paper),
    '',
    ...rows.flatMap(([label, text]) => row(label, text, paper)),
    '',
    ...reasons.flatMap((text) => row('why', text, paper)),
    ...todo(advice, paper),
  ]
}

/** Returns the lines about a move between two paths. */
export function moveLines({ outcome, verdict, why, advice }: RenameCheck, paper: Paper): string[] {
  return [
    ...headline(verdict, outcome === 'rename' ? 'good' : 'bad', paper),
    '',
    ...row('why', why, paper),
    ...todo(advice, paper),
  ]
}

/** Returns the lines about a mount that does not answer: the facts of the mount table. */
export function unansweredLines({ path, hint, mount }: Unanswered, paper: Paper): string[] {
  return [
    ...headline(
      `${path}: the mount at ${mount?.point ?? '(unknown)'} (${mount?.type ?? 'unknown'}) does not answer.`,
      'bad',
      paper,
    ),
    '',
    ...(mount === undefined ? [] : row('mount', `${describe(mount)}, by the mount table`, paper)),
    ...row('why', `${hint}.`, paper),
    ...row('advice', 'See whether its server runs and can be reached, then ask again.', paper),
  ]
}

const LOCAL = {
  delivered: 'changes made here are delivered',
  lost: 'changes made here: lost, no event comes',
  unknown: 'changes made here: unknown, events may get lost',
} as const

const REMOTE = {
  none: 'nobody else can change it',
  silent: 'changes made elsewhere: silent, no event comes',
  unknown: 'changes made elsewhere: unknown, do not count on events',
} as const

const PINNED = {
  static: 'static: a single file is mounted here, which stays when its source is replaced',
  stale: 'stale: what is mounted here has been replaced or deleted at its source',
} as const

function describe({ type, point, source, root, options }: Mount): string {
  const of = root === '/' || root === '' ? '' : `, of which ${root} is mounted`
  const readOnly = options.includes('ro') ? ', read-only' : ''
  return `${type} at ${point || '(not in this mount table)'} from ${source || 'none'}${of}${readOnly}`
}

function ofNamespace(sysctl: string): string {
  return sysctl.startsWith('user.') ? ` (${sysctl} of this user namespace)` : ''
}

function held({ name, pid, watches, instances }: Holder): string {
  return `${name || '?'} (pid ${pid}) ${watches} in ${instances} instance${instances === 1 ? '' : 's'}`
}

function todo(advice: readonly string[], paper: Paper): string[] {
  if (advice.length === 0) return []
  return ['', ...advice.flatMap((text) => row('advice', text, paper))]
}
