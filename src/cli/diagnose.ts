import { type Diagnosis, diagnose } from '../mounts/diagnose.ts'
import { type Command, parse, UsageError } from './command.ts'
import { printJson, printLine } from './output.ts'

const HELP = `usage: inotify-bridge diagnose [--json] PATH...

Says which mount each path lies on, whether that mount delivers inotify events for changes made here (local) and for those
made elsewhere (remote), what watch() would use, why, and what to do about it. Reads only.

      --json      an object a line
  -h, --help

Exit code: 0 done, 1 failed, 2 wrong usage.
`

export const diagnoseCommand: Command = {
  summary: 'say what a path can and cannot deliver, and why',
  help: HELP,
  async run(args) {
    const { values, positionals: paths } = parse(args, { json: { type: 'boolean' } })
    if (paths.length === 0) throw new UsageError('name at least one path')
    for (const path of paths) {
      const diagnosis = await diagnose(path)
      if (values.json) printJson(diagnosis)
      else print(diagnosis)
    }
    return 0
  },
}

function print({ path, realPath, mount, local, remote, pinned, backend, reasons, advice }: Diagnosis): void {
  printLine(path === realPath ? path : `${path} -> ${realPath}`)
  row('mount', `${mount.type} at ${mount.point || '(not in this mount table)'}`)
  row('local', local === 'delivered' ? 'changes made here are delivered' : `changes made here: ${local}`)
  row('remote', remote === 'none' ? 'nobody else can change it' : `changes made elsewhere: ${remote}`)
  if (pinned !== 'no') row('pinned', `${pinned}: a single file is mounted here`)
  row('backend', backend)
  for (const reason of reasons) row('why', reason)
  for (const one of advice) row('advice', one)
}

function row(label: string, text: string): void {
  printLine(`  ${label.padEnd(8)} ${text}`)
}
