import type { Examination } from '../../mounts/diagnosis/examine.ts'
import { SCRATCH } from '../../mounts/diagnosis/probe.ts'
import { checkRename } from '../../mounts/diagnosis/rename_check.ts'
import { type Command, parse, requirePaths } from '../shared/command.ts'
import { flag } from '../shared/option.ts'
import { jsonLine, printsObjects, printText, tell } from '../shared/output.ts'
import { diagnosisPage, movePage, unansweredPage } from './diagnosis_text.ts'
import { examine, probe } from './examiner.ts'
import { linesOf, type Page, paperOf } from './page.ts'

const OPTIONS = {
  probe: flag(
    `prove that changes made here are delivered: makes an empty file ${SCRATCH}* in the directory (or beside the file), renames it, removes it at once and waits up to 1.5 s for the event. Whoever watches the directory sees a dotfile come and go: harmless, unless it reloads at any event at all. Proves nothing of remote changes`,
  ),
  check: flag('exit code 1 if the verdict on any of the paths is bad, for CI and init containers'),
  json: flag('an object a line; of two paths a third one, the move'),
} as const

export const diagnoseCommand: Command = {
  summary: 'say what a path can and cannot deliver, and why',
  usage: ['[OPTIONS] PATH...'],
  about: `Says of each path whether events arrive there: which mount it and each symlink on the way lie on, whether changes made here
(local) and those made elsewhere (remote) are delivered, whether it is a single-file mount (subPath) that no update reaches,
by what a watch is made, how far the limits of inotify are used up and by whom, why, and what to do about it.

With two paths it also says what becomes of a file that is moved from the first to the second: between two mounts, two binds
of one file system included, it is EXDEV, and no watcher of the second sees IN_MOVED_TO.

Reads only, unless --probe is given. A mount that does not answer is given up after 4 s.`,
  options: OPTIONS,
  notes: `Colours are for a terminal; NO_COLOR forbids them.

Exit code: 0 done, 1 failed, no answer or (--check) a bad verdict, 2 wrong usage.`,
  examples: [
    'inotify-bridge diagnose /etc/config',
    'inotify-bridge diagnose --check --probe /var/lib/app',
    'inotify-bridge diagnose /tmp /etc/envoy',
  ],
  async run(args) {
    const { values, words: paths } = parse(args, OPTIONS)
    requirePaths(paths)
    const paper = paperOf(process.stdout)
    let between = ''
    const show = (found: object, page: Page) => {
      // All text from outside is escaped in the lines; the colours are ours.
      printText(printsObjects() ? jsonLine(found) : `${between}${linesOf(page, paper).join('\n')}\n`)
      between = '\n'
    }
    const found: Examination[] = []
    for (const path of paths) {
      const answer = await examine(path)
      if ('examination' in answer) {
        const { diagnosis, verdict, environments, holders } = answer.examination
        found.push(answer.examination)
        const probed = values.probe ? await probe(answer.examination) : undefined
        const fields = { ...diagnosis, verdict, environments, holders, ...(probed && { probe: probed }) }
        show(fields, diagnosisPage(answer.examination, probed))
      } else {
        const { unanswered, message, fields = { path } } = answer
        if (unanswered !== undefined) {
          const { code, hint, mount } = unanswered
          show({ path, error: { code, hint }, mount }, unansweredPage(unanswered))
        }
        tell(message, 'error', fields)
      }
    }
    const [a, b] = found
    if (paths.length === 2 && a !== undefined && b !== undefined) {
      const move = checkRename({ ...a, path: a.diagnosis.path }, { ...b, path: b.diagnosis.path })
      show(move, movePage(move))
    }
    const isBad = values.check === true && found.some(({ verdict }) => verdict.level === 'bad')
    return isBad || found.length < paths.length ? 1 : 0
  },
}
