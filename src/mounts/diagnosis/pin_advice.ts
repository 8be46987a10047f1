import { basename, dirname, join } from 'node:path'
import type { Findings } from './findings.ts'
import { type Origin, originOf } from './single_file_mount.ts'

type OfKubelet = Extract<Origin, { by: 'kubelet' }>

/** Returns what to do about a mount of a single file: the lines to change. YAML is in flow style, so that it is one line. */
export function adviseOnPin(findings: Findings): string[] {
  const { pinned, route, environments } = findings
  if (pinned === 'no') return []
  const origin = originOf(route.mount)
  const again = pinned === 'stale' ? [restart(origin, route.seen.kind)] : []
  if (route.seen.kind === 'directory') return again
  if (origin.by === 'kubelet') return [...again, ...withoutSubPath(route.mount.point, origin)]
  if (origin.by === 'engine') return again
  // The share of a Kata guest shows names of its own, so the source on the host is not known.
  if (environments.some(({ name }) => name === 'Kata')) {
    const { point } = route.mount
    const subPath: OfKubelet = { by: 'kubelet', volume: 'other', name: '', key: basename(point) }
    return [...again, ...withoutSubPath(point, subPath).map((line) => `If it is a subPath: ${line}`)]
  }
  return [...again, ...wholeDirectory(route.mount.point, route.mount.root)]
}

function restart(origin: Origin, kind: string): string {
  if (kind === 'directory')
    return 'Restart the container, or mount the directory again: its source has been deleted or replaced.'
  const how =
    origin.by === 'kubelet'
      ? "'kubectl rollout restart' of its Deployment, or delete the pod"
      : 'docker restart'
  return `Restart the container to get the present content (${how}); that lasts until the next update, so change its mounts as well.`
}

function withoutSubPath(point: string, { volume, name: known, key }: OfKubelet): string[] {
  const name = known || 'VOLUME'
  const directory = dirname(point) === '/' ? `/${known || 'config'}` : dirname(point)
  const own = join(directory, '..', `${basename(directory)}-${known || 'live'}`)
  const file = basename(point)
  const below = volume === 'other' && key.includes('/') ? `, subPath: ${yaml(dirname(key))}` : ''
  const mount = (path: string, more = '') => `{ name: ${yaml(name)}, mountPath: ${yaml(path)}${more} }`
  const lines = [
    `In the container's volumeMounts replace ${mount(point, `, subPath: ${yaml(key)}`)} by ${mount(directory, below)}: without subPath for ` +
      `the file, a directory mount follows every update, and ${join(directory, file)} stays where the program looks for it.`,
    `If ${directory} has other files of the image, mount it beside: ${mount(own, below)}, and have the program read ${join(own, file)}.`,
  ]
  const source = onlyThisKey(volume, key, file)
  if (source !== undefined) {
    lines.push(`To have this key alone there, in the pod's volumes: { name: ${yaml(name)}, ${source} }.`)
  }
  return lines
}

function onlyThisKey(volume: OfKubelet['volume'], key: string, file: string): string | undefined {
  const items = `items: [{ key: ${yaml(key)}, path: ${yaml(file)} }]`
  switch (volume) {
    case 'configMap':
      return `configMap: { name: CONFIGMAP, ${items} }`
    case 'secret':
    case 'secret or projected':
      return `secret: { secretName: SECRET, ${items} }`
    case 'projected':
      return `projected: { sources: [{ configMap: { name: CONFIGMAP, ${items} } }] }`
    case 'downwardAPI':
    case 'other':
      return undefined
  }
}

/** Quotes a text that YAML would take for something else. */
function yaml(text: string): string {
  return /^[/\w.][\w./-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|~|[\d.]+)$/i.test(text)
    ? text
    : JSON.stringify(text)
}

function wholeDirectory(point: string, root: string): string[] {
  const host = root.replace(/\/\/deleted$/, '')
  // The container's root directory is no place for a mount.
  const directory = dirname(point) === '/' ? '/config' : dirname(point)
  return [
    `Mount the directory instead of the file: in place of '-v ${host}:${point}' use '-v ${dirname(host)}:${directory}' (the first path as ` +
      "that file system has it), or the same in 'volumes:' of docker-compose.yml.",
    `Or change the source in place ('cat new > ${host}'): what replaces it (mv, sed -i, most editors, git) leaves the mount with the old file.`,
  ]
}
