import { capability } from '../filesystems.ts'
import type { Mount } from '../mountinfo.ts'
import { type Findings, isLeftByLayer, scarce } from './findings.ts'
import { originOf } from './single_file_mount.ts'

/** The first thing that a person is told. */
export interface Verdict {
  /** 'good': events arrive · 'partly': some do, or in another way than one might think · 'bad': what matters is missed */
  readonly level: 'good' | 'partly' | 'bad'
  readonly text: string
}

/** Judges if a plain inotify watcher hears of changes at a path: one sentence, and a second one if no watch is to be had. */
export function judge(findings: Findings): Verdict {
  if (findings.refusal !== undefined)
    return bad('No watcher of inotify works in this process: the system call is refused to it.')
  if (!findings.isReadable)
    return bad('No watcher of this user works here: inotify_add_watch(2) needs the permission to read.')
  const about = aboutPath(findings)
  const [spent] = scarce(findings, 1)
  if (spent === undefined) return about
  const { inUse, limit, what } = spent
  const text = `No new watcher works for this user: ${inUse} of ${limit} ${what} are in use. ${about.text}`
  return { level: 'bad', text }
}

function aboutPath(findings: Findings): Verdict {
  const { route, pinned } = findings
  if (pinned !== 'no') return aboutPin(findings)
  if (isLeftByLayer(findings)) {
    return bad(
      'This file is stale: a layer behind this overlay was changed directly, so it shows one that has been replaced or deleted there, and ' +
        'no event has come nor will.',
    )
  }
  const own = aboutMount(route.mount)
  if (own.level === 'bad') return own
  // Others who can change a link unseen can change unseen which file the path means.
  const link = route.links.find(({ mount }) => isChangedUnseen(mount))
  if (link !== undefined && own.level === 'good') return missedLink(link.path, link.mount)
  return aboutVolume(findings) ?? aboutBelow(findings, own)
}

function aboutPin({ route, pinned }: Findings): Verdict {
  const origin = originOf(route.mount)
  const what = origin.by === 'kubelet' ? 'a subPath mount' : 'a mount of a single file'
  if (route.seen.kind === 'directory') {
    return bad(
      `This directory is gone: its mount still shows what was deleted at its source, and no event will ever come.`,
    )
  }
  if (pinned === 'stale') {
    return bad(
      `This file is stale: it is ${what} whose source has been replaced or deleted, so it shows the old content for ever and no ` +
        'watcher will hear of the new one.',
    )
  }
  if (origin.by === 'engine')
    return partly('Events arrive here for what the container engine writes into this file in place.')
  return bad(
    `This file will not follow an update: it is ${what}, and when its source is replaced it keeps the old content, without an event.`,
  )
}

function isChangedUnseen(mount: Mount): boolean {
  const { remote, rare, untimed } = capability(mount)
  return remote !== 'none' && !rare && !untimed
}

function missedLink(path: string, mount: Mount): Verdict {
  const { others = 'others' } = capability(mount)
  return bad(
    `A plain watcher will miss a change of the symlink ${path} made by ${others}: it lies on ${mount.type}, and the path then means ` +
      'another file.',
  )
}

/** The number of mounts below that are named. */
const NAMED = 3

function aboutBelow({ below }: Findings, own: Verdict): Verdict {
  if (below.length === 0 || own.level === 'bad') return own
  const named = below.slice(0, NAMED).map(({ point, type }) => `${point} (${type})`)
  const more = below.length > NAMED ? ` and ${below.length - NAMED} more` : ''
  return partly(
    `${own.text} A plain watcher will miss changes made by others on mounts below: ${named.join(', ')}${more}.`,
  )
}

function aboutVolume({ volume, environments, route }: Findings): Verdict | undefined {
  if (volume === undefined) return undefined
  if (environments.some(({ name }) => name === 'Kata') && volume.mount.type === 'tmpfs') {
    return partly(
      "A watcher that waits for IN_MOVED_TO hears nothing here: Kata's agent copies this volume to a tmpfs and writes it in place.",
    )
  }
  if (route.realPath === volume.directory)
    return good('Events arrive here: an update is an IN_MOVED_TO of ..data, and none names a file.')
  return partly(
    `Events arrive in ${volume.directory}, but none names this file: an update replaces the symlink ..data, and a watch on the file ` +
      'itself goes silent at the first.',
  )
}

function aboutMount(mount: Mount): Verdict {
  const { local, remote, rare, untimed, readOnly, others = 'others' } = capability(mount)
  if (untimed) return bad('No watcher hears of changes here: the kernel makes this content when it is read.')
  if (readOnly) return good(`Nothing changes here: ${mount.type} is read-only.`)
  if (local === 'lost') {
    return bad(
      `A plain watcher hears nothing here, neither of changes made by ${others} nor of those made on this machine.`,
    )
  }
  if (local === 'unknown')
    return bad('A plain watcher cannot be relied on here: events are known to get lost.')
  if (rare) {
    return good(
      'Events arrive here for all that is changed through this path; only a layer behind it that is changed directly goes unheard.',
    )
  }
  if (remote === 'silent') return bad(`A plain watcher will miss changes made by ${others}.`)
  if (remote === 'unknown') return partly(`A plain watcher may miss changes made by ${others}.`)
  return good(
    mount.type.startsWith('cgroup')
      ? 'Events arrive here for groups made and removed and for *.events files; counters change without an event.'
      : 'Events arrive here: a plain inotify watcher sees every change.',
  )
}

function good(text: string): Verdict {
  return { level: 'good', text }
}

function partly(text: string): Verdict {
  return { level: 'partly', text }
}

function bad(text: string): Verdict {
  return { level: 'bad', text }
}
