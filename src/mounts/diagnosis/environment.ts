import { isGofer } from '../filesystems.ts'
import type { Mount } from '../mountinfo.ts'

/** The environment of this process, as far as it matters to who hears of which change. */
export interface Environment {
  readonly name: 'gVisor' | 'WSL 1' | 'WSL 2' | 'Kata' | 'Docker Desktop' | 'container'
  /** The sign that it was recognised by. */
  readonly how: string
  /** One sentence: what it means for file events. */
  readonly means: string
}

/** The kernel's statements about itself. */
export interface KernelFacts {
  /** /proc/version */
  readonly version: string
  /** /proc/cmdline */
  readonly cmdline: string
}

/** The date in gVisor's /proc/version since ever, also before gVisor named itself in the release. No kernel that anybody boots has it. */
const GVISOR_DATE = '#1 SMP Sun Jan 10 15:06:54 PST 2016'

/** Returns the environments that are recognised, the one that explains most first. */
export function recognise(mounts: readonly Mount[], { version, cmdline }: KernelFacts): Environment[] {
  return [
    gvisor(mounts, version),
    kata(mounts, cmdline),
    wsl(mounts, version),
    dockerDesktop(mounts, version),
    container(mounts),
  ].filter((found) => found !== undefined)
}

type Found = Environment | undefined

function gvisor(mounts: readonly Mount[], version: string): Found {
  const how =
    (/gvisor/i.test(version) && '/proc/version names it') ||
    (version.includes(GVISOR_DATE) && `/proc/version has its date, ${GVISOR_DATE}`) ||
    (mounts.some(isGofer) && 'its gofer serves a mount: 9p with rfdno=')
  if (!how) return undefined
  const means =
    'inotify is that of the sandbox, not of the kernel below it, and what the host changes makes no event in it'
  return { name: 'gVisor', how, means }
}

function kata(mounts: readonly Mount[], cmdline: string): Found {
  const shared = mounts.find(({ source }) => source === 'kataShared')
  const how =
    (shared !== undefined && `the host's share 'kataShared' (${shared.type}) is mounted`) ||
    (cmdline.includes('kata-containers.target') &&
      'the command line of its kernel starts kata-containers.target')
  if (!how) return undefined
  const means =
    'this is a virtual machine: what the host (the kubelet) changes makes no event in it, and small ConfigMaps and Secrets are ' +
    'copies on a tmpfs that the agent renews every 2 s, in place, without an IN_MOVED_TO'
  return { name: 'Kata', how, means }
}

function wsl(mounts: readonly Mount[], version: string): Found {
  const drive = mounts.find(({ options }) => options.some((option) => option.startsWith('aname=drvfs')))
  const isSecond = /microsoft-standard|WSL2/i.test(version)
  const how =
    (/microsoft/i.test(version) && '/proc/version names Microsoft') ||
    (drive !== undefined && `a drive of Windows is mounted at ${drive.point} (9p, aname=drvfs)`)
  if (!how) return undefined
  const means =
    "what Windows changes on its drives makes no event here; WSL's own disk (your home) delivers all"
  return { name: isSecond || drive !== undefined ? 'WSL 2' : 'WSL 1', how, means }
}

function dockerDesktop(mounts: readonly Mount[], version: string): Found {
  const shared = mounts.find(
    ({ type, source }) =>
      type === 'fakeowner' || /(^|\.)(grpcfuse|osxfs)$/.test(type) || source.startsWith('/run/host_mark/'),
  )
  const how =
    (shared !== undefined && `a directory of the host is mounted at ${shared.point} (${shared.type})`) ||
    (/linuxkit/i.test(version) && '/proc/version names linuxkit')
  if (!how) return undefined
  const means =
    "a directory of the host is shared with a virtual machine, which is not told of all the host's changes"
  return { name: 'Docker Desktop', how, means }
}

function container(mounts: readonly Mount[]): Found {
  const root = mounts.find(({ point }) => point === '/')
  if (root?.type !== 'overlay') return undefined
  const means =
    'what is changed in the container is delivered; the limits of inotify are shared with all others of the same user on this kernel'
  return { name: 'container', how: 'its root is an overlay', means }
}
