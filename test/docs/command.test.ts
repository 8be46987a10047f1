// docs/command.md has the flags that each command's --help lists.
import { expect, test } from 'vitest'
import { diagnoseCommand } from '../../src/cli/diagnose/diagnose.ts'
import { mirrorCommand } from '../../src/cli/mirror/mirror.ts'
import { publishCommand } from '../../src/cli/publish/publish.ts'
import { reloadCommand } from '../../src/cli/reload/reload.ts'
import { helpOf } from '../../src/cli/shared/help.ts'
import { watchCommand } from '../../src/cli/watch/watch.ts'
import { textOf } from './pages.ts'

const page = textOf('docs/command.md')

/** The rows of the first table behind a text: the first cell, and the others. */
function tableAfter(text: string): Array<{ first: string; others: string }> {
  const at = page.indexOf(text)
  expect(at, text).toBeGreaterThanOrEqual(0)
  const [table = ''] = /(?:^\|.*\n)+/m.exec(page.slice(at)) ?? []
  return [...table.matchAll(/^\|((?:\\\||[^|])*)\|(.*)\|$/gm)].map(([, first = '', others = '']) => ({
    first,
    others,
  }))
}

test.each([
  ['watch', watchCommand],
  ['mirror', mirrorCommand],
  ['publish', publishCommand],
  ['reload', reloadCommand],
  ['diagnose', diagnoseCommand],
])('the table of `inotify-bridge %s` has the flags that its --help lists, and no others', (name, command) => {
  const help = helpOf(name, command)
  const flagsIn = (text: string) => text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []
  const rows = tableAfter(`\n## ${name}\n`)
  // Options begin a line of --help, alone or with others, and their text follows some columns to the right.
  const listed = (help.match(/^ +(?:-\w, )?--[a-z].*?(?= {2}|$)(?: {3}--\S+)*/gm) ?? []).flatMap(flagsIn)
  expect(listed.length).toBeGreaterThan(1)
  const named = rows.flatMap(({ first, others }) => flagsIn(`${first} ${others}`))
  // --help itself is described once, for all commands.
  expect(listed.filter((flag) => flag !== '--help' && !named.includes(flag))).toEqual([])
  expect(rows.flatMap(({ first }) => flagsIn(first)).filter((flag) => !listed.includes(flag))).toEqual([])
})
