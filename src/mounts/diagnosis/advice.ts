import { dirname } from 'node:path'
import type { Holder } from '../../inotify/holders.ts'
import { howToRaise } from '../../inotify/limits.ts'
import { capability, isGofer } from '../filesystems.ts'
import type { Mount } from '../mountinfo.ts'
import { type Findings, isLeftByLayer, scarce } from './findings.ts'
import { adviseOnPin } from './pin_advice.ts'

/** The kernel's default of max_queued_events. A smaller queue soon overflows. */
const USUAL_QUEUE = 16_384

const ALLOW_INOTIFY =
  'Allow inotify_init1(2) and inotify_add_watch(2) where this runs: in the seccomp profile of the container, or by another sandbox or emulator. Until then watch() ' +
  'polls, and so do the drop-ins, mirror and reload; a program that you cannot change hears nothing.'

/** Returns what to do about the findings, the most pressing first. Empty if all is well. */
export function advise(findings: Findings): string[] {
  const { route, refusal, isReadable } = findings
  return [
    ...(refusal === undefined ? [] : [ALLOW_INOTIFY]),
    ...(isReadable
      ? []
      : [`Let uid ${process.getuid?.()} read ${route.realPath}, or run the watcher as another user.`]),
    ...adviseOnUse(findings),
    ...adviseOnPin(findings),
    ...adviseOnLayers(findings),
    ...adviseOnVolume(findings),
    ...new Set(route.all.flatMap((mount) => adviseOnMount(mount, findings))),
    ...adviseOnBelow(findings),
    ...adviseOnQueue(findings),
  ]
}

function adviseOnMount(mount: Mount, { path, route }: Findings): string[] {
  const { local, remote, rare, untimed, others = 'others' } = capability(mount)
  if (mount.type.startsWith('cgroup'))
    return ['Watch the *.events files (memory.events, cgroup.events); read counters at intervals.']
  if (remote === 'none') return []
  if (rare) {
    return [
      `Use watch() with backend: 'poll' (watch --backend poll) if a layer of ${nameOf(mount)} is changed directly.`,
    ]
  }
  if (untimed) {
    return [
      `Read the files themselves at intervals: on ${nameOf(mount)} their contents change, but not the times that a poll compares.`,
    ]
  }
  const unseen = local === 'delivered' ? `changes made by ${others} too` : 'all changes'
  const source = route.seen.kind === 'directory' ? path : dirname(path)
  // Advice that changes no line of a program comes first.
  return [
    ...(local === 'delivered' || isGofer(mount) ? [] : adviseOn9p(mount)),
    'A program of Node that you cannot change (Vite, webpack, nodemon, tsc --watch of TypeScript 6): start it with NODE_OPTIONS="--import inotify-bridge/register", or by ' +
      `'inotify-bridge exec -- PROGRAM'. Its fs.watch() then reports ${unseen}.`,
    // gVisor has no seccomp_unotify(2).
    ...(isGofer(mount)
      ? []
      : [
          "Any other program gets true events as it is, IN_MOVED_TO too: start it by 'inotify-bridge run " +
            `${remote === 'unknown' ? '--all ' : ''}-- PROGRAM' (Linux 5.14).`,
        ]),
    "Any program may watch a copy, in which no version is ever half there: 'inotify-bridge mirror " +
      `${quoted(source)} TARGET', where TARGET is a directory on a tmpfs (emptyDir: { medium: Memory }) that the program watches; or, at the same ` +
      `path, 'inotify-bridge mirror ${quoted(source)} --in-place -- PROGRAM'.`,
    `Your own program in JavaScript: use watch(). It polls ${nameOf(mount)} by itself, and so reports ${unseen}.`,
  ]
}

function adviseOnBelow({ below }: Findings): string[] {
  const [first] = below
  if (first === undefined) return []
  return [
    `Ask about what is mounted below by itself ('inotify-bridge diagnose ${quoted(first.point)}'): watch() with \`recursive\` polls it.`,
  ]
}

function adviseOn9p({ type, options, point }: Mount): string[] {
  if (type !== '9p') return []
  if (options.some((option) => option.startsWith('aname=drvfs'))) {
    return [
      `Keep what is watched on WSL's own disk (/home), not below ${point}: there every event arrives. Windows reaches it as \\\\wsl$.`,
    ]
  }
  return [
    `If nobody else changes ${point}, mount it with cache=loose: then at least changes made here are told.`,
  ]
}

function adviseOnLayers(findings: Findings): string[] {
  if (!isLeftByLayer(findings)) return []
  const { point } = findings.route.mount
  return [
    `Mount the overlay again (umount ${quoted(point)}, mount) to see what its layers hold now, and change it through ${quoted(point)} only.`,
  ]
}

function adviseOnVolume({ volume, environments, pinned }: Findings): string[] {
  if (volume === undefined || pinned !== 'no') return []
  const { directory, mount } = volume
  if (environments.some(({ name }) => name === 'Kata') && mount.type === 'tmpfs') {
    return [
      `Act on IN_CREATE and IN_CLOSE_WRITE in ${directory}, not on IN_MOVED_TO alone; or give the program a copy that has it: ` +
        `'inotify-bridge mirror ${quoted(directory)} TARGET'.`,
    ]
  }
  // No advice to watch a mount that delivers no events of others.
  if (capability(mount).remote !== 'none') return []
  return [
    `Watch the directory ${quoted(directory)}, not the file, and act on IN_MOVED_TO of '..data' (Envoy: watched_directory: { path: ` +
      `${directory} }); watch() given the file does so by itself.`,
  ]
}

function nameOf({ point, type }: Mount): string {
  return `${point || 'a mount'} (${type})`
}

/** Quotes a path for a shell. */
function quoted(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function adviseOnUse(findings: Findings): string[] {
  const [first] = findings.holders
  return scarce(findings).map(({ sysctl, limit, inUse }) => {
    const most = first === undefined ? '' : `; ${nameOfHolder(first)} has most: ${count(first)}`
    const where = sysctl.startsWith('user.') ? '' : " on the node (it is not a container's own)"
    return (
      `${sysctl} is ${limit} and ${inUse} are in use${most}. Raise it${where}: ${howToRaise(sysctl, limit)}; ` +
      'or end what holds them.'
    )
  })
}

function nameOfHolder({ name, pid }: Holder): string {
  return `${name || 'a process'} (pid ${pid})`
}

function count({ watches, instances }: Holder): string {
  return `${watches} watches, ${instances} instances`
}

function adviseOnQueue({ limits: { maxQueuedEvents: queue } }: Findings): string[] {
  if (!(queue < USUAL_QUEUE)) return []
  return [
    `fs.inotify.max_queued_events is ${queue}: a burst of more overflows the queue (IN_Q_OVERFLOW), and most watchers then lose events ` +
      `without a word. Raise it: 'sysctl -w fs.inotify.max_queued_events=${USUAL_QUEUE}', then restart the watchers; watch() reports the difference.`,
  ]
}
