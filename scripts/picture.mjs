// Draws docs/picture.svg, the picture at the top of README.md, from test/guest/watched.json: the events of
// two watchers in a virtual machine, for updates of the host. To measure anew:
// GUEST_PICTURE=test/guest/watched.json npm run test:guest -- watched, then this.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ at: number, event: string, name: string }} Heard */

const root = join(import.meta.dirname, '..')
/** @type {{ updates: number[], share: Heard[], target: Heard[] }} */
const { updates, share, target } = JSON.parse(readFileSync(join(root, 'test/guest/watched.json'), 'utf8'))

// A page decides between light and dark by the reader's own setting.
const STYLE = `
  svg { color: #1f2328; font: 13px system-ui, sans-serif }
  .head { font-weight: bold }
  .event { font-family: ui-monospace, monospace; font-size: 12px }
  .swap { fill: #1a7f37; font-weight: bold }
  .none { fill: #cf222e; font-weight: bold }
  .time { fill: #6e7781 }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3 }
    .swap { fill: #3fb950 }
    .none { fill: #ff7b72 }
    .time { fill: #9198a1 }
  }
`
const ROW = 22
const TOP = 70
const [HOST, SHARE, TARGET] = [16, 280, 490]
const WIDTH = 850

/** @param {string} value */
const escaped = (value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/**
 * @param {number} x
 * @param {number} y
 * @param {string} content
 * @param {string} [kind]
 */
const text = (x, y, content, kind = '') =>
  `<text x="${x}" y="${y}"${kind === '' ? '' : ` class="${kind}"`}>${escaped(content)}</text>`

/** The events of the two watchers, a line each, in the order of time. */
const happened = [
  ...updates.map((at, i) => ({ at, x: HOST, what: `update ${i + 1} of the ConfigMap`, kind: '' })),
  ...[share, target].flatMap((heard, i) =>
    heard.map(({ at, event, name }) => ({
      at,
      x: [SHARE, TARGET][i] ?? 0,
      // Shows only the date of a version. The rest of the name is random.
      what: `${event.replace('|IN_ISDIR', '')} ${name.replace(/^(\.\.\d{4}_).*/, '$1…')}`,
      kind: event === 'IN_MOVED_TO' && name === '..data' ? 'event swap' : 'event',
    })),
  ),
].sort((a, b) => a.at - b.at)

const rows = happened.flatMap(({ at, x, what, kind }, i) => {
  const y = TOP + (i + 1) * ROW
  const isUpdate = x === HOST
  const line = `<line x1="${HOST}" y1="${y - 15}" x2="${WIDTH - 16}" y2="${y - 15}" stroke="currentColor" stroke-opacity="0.15"/>`
  // The time of an update stands before its text, in a place of its own.
  const time = text(isUpdate ? x : WIDTH - 76, y, `${at} ms`, 'time')
  return [...(isUpdate ? [line] : []), time, text(isUpdate ? x + 60 : x, y, what, kind)]
})

const height = TOP + happened.length * ROW + 20
// Shows "no event" for an update without events on the share before the next one.
const silence = updates.flatMap((at, i) => {
  const next = updates[i + 1] ?? Number.POSITIVE_INFINITY
  const y = TOP + (happened.findIndex((each) => each.x === HOST && each.at === at) + 2) * ROW
  return share.some((event) => event.at >= at && event.at < next) ? [] : [text(SHARE, y, 'no event', 'none')]
})

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" fill="currentColor" role="img">
<title>The host updates a ConfigMap on virtiofs ${updates.length} times: what two watchers in the virtual machine hear</title>
<style>${STYLE}</style>
${[
  text(HOST, 28, 'On the host', 'head'),
  text(SHARE, 28, 'A watcher of the mount', 'head'),
  text(SHARE, 48, 'virtiofs', 'time'),
  text(TARGET, 28, 'The same watcher of the mirror', 'head'),
  text(TARGET, 48, 'inotify-bridge mirror, on a tmpfs', 'time'),
  `<line x1="${HOST}" y1="60" x2="${WIDTH - 16}" y2="60" stroke="currentColor" stroke-opacity="0.5"/>`,
  ...rows,
  ...silence,
].join('\n')}
</svg>
`
// The argument names another file, for a comparison with the present one.
writeFileSync(process.argv[2] ?? join(root, 'docs/picture.svg'), svg)
