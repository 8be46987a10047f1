import type { Examination } from '../../mounts/diagnosis/examine.ts'
import { type Probe, SCRATCH } from '../../mounts/diagnosis/probe.ts'
import { checkRename, type End, type RenameCheck } from '../../mounts/diagnosis/rename_check.ts'
import { defineCommand, parse, requirePaths } from '../shared/command.ts'
import { flag } from '../shared/option.ts'
import { printJson, printStyled, tell } from '../shared/output.ts'
import { diagnosisLines, moveLines, unansweredLines } from './diagnosis_text.ts'
import { Examiner, type Unanswered } from './examiner.ts'
import { paperOf } from './page.ts'

const OPTIONS = {
  probe: flag(
    `prove that changes made here are delivered: makes an empty file ${SCRATCH}* in the directory (or beside the file), renames it, removes it at once and waits up to 1.5 s for the event. Whoever watches the directory sees a dotfile come and go: harmless, unless it reloads at any event at all. Proves nothing of remote changes`,
  ),
  check: flag('exit code 1 if the verdict on any of the paths is bad, for CI and init containers'),
  json: flag('an object a line; of two paths a third one, the move'),
} as const

const description = {
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
}

export const diagnoseCommand = defineCommand('diagnose', description, {
  async run(args) {
    const { values, words: paths } = parse(args, OPTIONS)
    requirePaths(paths)
    const report = values.json ? new Objects() : new Text()
    const found: Examination[] = []
    using examiner = new Examiner()
    for (const path of paths) {
      const answer = await examiner.examine(path)
      if ('examination' in answer) {
        const { examination } = answer
        found.push(examination)
        report.examined(examination, values.probe ? await examiner.probe(examination) : undefined)
      } else {
        if (answer.unanswered !== undefined) report.unanswered(answer.unanswered)
        tell('diagnose', answer.message, 'error', answer.fields ?? { path })
      }
    }
    const [a, b] = found
    if (paths.length === 2 && a !== undefined && b !== undefined)
      report.moved(checkRename(endOf(a), endOf(b)))
    const isBad = values.check === true && found.some(({ verdict }) => verdict.level === 'bad')
    return isBad || found.length < paths.length ? 1 : 0
  },
})

function endOf({ diagnosis: { path }, route, directory }: Examination): End {
  return { path, route, directory }
}

class Text {
  readonly #paper = paperOf(process.stdout)
  #isFirst = true

  examined(examination: Examination, probed: Probe | undefined): void {
    this.#print(diagnosisLines(examination, probed, this.#paper))
  }

  moved(move: RenameCheck): void {
    this.#print(moveLines(move, this.#paper))
  }

  unanswered(mount: Unanswered): void {
    this.#print(unansweredLines(mount, this.#paper))
  }

  #print(lines: string[]): void {
    printStyled(this.#isFirst ? lines : ['', ...lines])
    this.#isFirst = false
  }
}

class Objects {
  examined({ diagnosis, verdict, environments, holders }: Examination, probed: Probe | undefined): void {
    printJson({ ...diagnosis, verdict, environments, holders, ...(probed && { probe: probed }) })
  }

  moved(move: RenameCheck): void {
    printJson(move)
  }

  unanswered({ path, code, hint, mount }: Unanswered): void {
    printJson({ path, error: { code, hint }, mount })
  }
}
