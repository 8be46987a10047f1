import { printable } from '../errors.ts'
import type { Reloader } from '../reload/reloader.ts'
import { printJson, tell } from './output.ts'
import type { Report } from './report.ts'

/** Reports what a reloader does: what failed on stderr, unless as an object. */
export function reportReload(reloader: Reloader, report: Report, json: boolean): void {
  reloader.on('reload', (reload) =>
    report('reload', reload, `reload ${reload.digest.slice(0, 12)}: ${reload.changed.join(' ')}`),
  )
  reloader.on('recovered', () => report('recovered', {}, 'recovered: the last good content is back'))
  reloader.on('failed', (failure) => {
    if (json) return printJson({ event: 'failed', ...failure })
    tell('reload', `${failure.stage} failed: ${failure.reason}`)
    for (const line of failure.output.split('\n')) if (line !== '') tell('reload', `| ${printable(line)}`)
  })
  // It is tried again.
  reloader.on('error', (error) => tell('reload', error.message))
}
