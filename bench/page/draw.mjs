// Draws a plot as SVG that is legible on a light page and on a dark one.
import { parse, View } from 'vega'
import { compile } from 'vega-lite'

// The ink that vega gets, and its replacement: the page decides between light and dark, which vega does not
// know.
const INK = '#010101'
const STYLE = `<style>svg { color: #1f2328; font-family: system-ui, sans-serif } @media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }</style>`

const CONFIG = {
  background: null,
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  text: { fill: INK },
  axis: {
    labelColor: INK,
    titleColor: INK,
    domainColor: '#8b949e',
    tickColor: '#8b949e',
    gridColor: '#8b949e',
    gridOpacity: 0.25,
    labelFontSize: 12,
    labelLimit: 260,
    titleFontSize: 12,
    titleFontWeight: 'normal',
  },
  legend: {
    labelColor: INK,
    titleColor: INK,
    labelFontSize: 12,
    orient: 'top',
    direction: 'horizontal',
    columns: 4,
    symbolStrokeWidth: 3,
  },
  title: { color: INK, fontSize: 15, anchor: 'start', offset: 12 },
}

/**
 * @param {import('./plots.mjs').Plot} plot
 * @param {Array<{ watcher: string }>} values
 * @returns {Promise<string>}
 */
export async function draw({ title, spec: specOf }, values) {
  const spec = specOf([...new Set(values.map(({ watcher }) => watcher))])
  const isBars = 'layer' in spec
  const size = { width: 560, height: isBars ? { step: 30 } : 260 }
  /** @type {import('vega-lite').TopLevelSpec} */
  const whole = /** @type {any} */ ({ ...spec, ...size, title, data: { values }, config: CONFIG })
  const view = new View(parse(compile(whole).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return `${svg.replaceAll(`"${INK}"`, '"currentColor"').replace('>', `>${STYLE}`)}\n`
}
