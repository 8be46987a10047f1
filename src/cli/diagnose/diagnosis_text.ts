import type { Holder } from '../../inotify/holders.ts'
import type { Examination } from '../../mounts/diagnosis/examine.ts'
import type { Probe } from '../../mounts/diagnosis/probe.ts'
import type { RenameCheck } from '../../mounts/diagnosis/rename_check.ts'
import type { Mount } from '../../mounts/mountinfo.ts'
import type { Unanswered } from './examiner.ts'
import type { Page, Row } from './page.ts'

/** The number of watch holders that are named. */
const NAMED = 3

/** Returns the page of an examination: the verdict, then its grounds, then what to do. */
export function diagnosisPage(found: Examination, probe: Probe | undefined): Page {
  const { diagnosis, verdict, route, environments, holders } = found
  const { path, realPath, mount, local, remote, pinned, backend, reasons, advice, limits } = diagnosis
  const facts: Row[] = []
  if (realPath !== path) facts.push(['leads to', realPath])
  for (const { path: link, to, mount: on } of route.links)
    facts.push(['link', `${link} -> ${to}, on ${placeOf(on)}`])
  facts.push(['mount', describe(mount)], ['local', LOCAL[local]], ['remote', REMOTE[remote]])
  if (pinned !== 'no') facts.push(['pinned', PINNED[pinned]])
  if (probe !== undefined) facts.push(['probe', `${probe.result}: ${probe.why}`])
  facts.push(['backend', `${backend}, if watch() is left to choose`])
  facts.push([
    'limits',
    `${limits.watchesInUse} of ${limits.maxUserWatches} watches${ofNamespace(limits.watchesLimitedBy)}, ` +
      `${limits.instancesInUse} of ${limits.maxUserInstances} instances${ofNamespace(limits.instancesLimitedBy)} ` +
      `in use by this user, as far as can be seen; a queue takes ${limits.maxQueuedEvents} events`,
  ])
  if (holders.length > 0) facts.push(['held by', holders.slice(0, NAMED).map(held).join('; ')])
  for (const { name, how } of environments) facts.push(['here', `${name}: ${how}`])
  const groups = [facts, labelled('why', reasons), labelled('advice', advice)]
  return { verdict: `${path}: ${verdict.text}`, level: verdict.level, groups }
}

/** Returns the page about a move between two paths. */
export function movePage({ outcome, verdict, why, advice }: RenameCheck): Page {
  const groups = [labelled('why', [why]), labelled('advice', advice)]
  return { verdict, level: outcome === 'rename' ? 'good' : 'bad', groups }
}

/** Returns the page about a mount that does not answer: the facts of the mount table. */
export function unansweredPage({ path, hint, mount }: Unanswered): Page {
  const { point = '(unknown)', type = 'unknown' } = mount ?? {}
  const facts: Row[] = mount === undefined ? [] : [['mount', `${describe(mount)}, by the mount table`]]
  facts.push(['why', `${hint}.`])
  facts.push(['advice', 'See whether its server runs and can be reached, then ask again.'])
  const verdict = `${path}: the mount at ${point} (${type}) does not answer.`
  return { verdict, level: 'bad', groups: [facts] }
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

function describe(mount: Mount): string {
  const { source, root, options } = mount
  const of = root === '/' || root === '' ? '' : `, of which ${root} is mounted`
  const readOnly = options.includes('ro') ? ', read-only' : ''
  return `${placeOf(mount)} from ${source || 'none'}${of}${readOnly}`
}

function placeOf({ type, point }: Pick<Mount, 'type' | 'point'>): string {
  return `${type} at ${point || '(not in this mount table)'}`
}

function ofNamespace(sysctl: string): string {
  return sysctl.startsWith('user.') ? ` (${sysctl} of this user namespace)` : ''
}

function held({ name, pid, watches, instances }: Holder): string {
  return `${name || '?'} (pid ${pid}) ${watches} in ${instances} instance${instances === 1 ? '' : 's'}`
}

function labelled(label: string, texts: readonly string[]): Row[] {
  return texts.map((text) => [label, text])
}
