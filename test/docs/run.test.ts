// Runs the docs' blocks as a reader would: JavaScript as a module of its own, commands a line each. The
// blocks of README.md are always run.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MAIN, Program } from '../cli/command.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { commandLinesOf } from './command_lines.ts'
import { installIn } from './compiler.ts'
import { blocksOf, PAGES } from './pages.ts'

const pages = isLong ? PAGES : ['README.md']
const blocks = pages.flatMap(blocksOf)

/** The output of a command that has begun its work and goes on until it is ended. */
const UNDER_WAY = /Watches established|^ready: |^mirroring |^listening/m

/** Runs a script with a shell in a namespace that has the directories named in the docs. See stage.sh. */
function onStage(script: string, files: Record<string, string>, changing = ''): Program {
  const here = scratch()
  installIn(here)
  mkdirSync(join(here, 'bin'))
  // npm makes the same link.
  writeFileSync(join(here, 'bin/inotify-bridge'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(join(here, 'bin/inotify-bridge'), 0o755)
  for (const [name, text] of Object.entries({ ...files, script })) writeFileSync(join(here, name), text)
  const stage = join(import.meta.dirname, 'stage.sh')
  // The namespace has ports of its own, and its processes end with the first.
  const namespace = ['-rmnpf', '--mount-proc', '--kill-child']
  return new Program('unshare', [...namespace, 'sh', stage, join(here, 'script'), changing], {
    cwd: here,
    // Certificates of the machine are not on the stage.
    environment: { NODE_EXTRA_CA_CERTS: '' },
  })
}

/** Waits until the program has ended with exit code 0, or does the work that it does until it is ended. */
async function expectWell(run: Program, isUnderWay: () => boolean): Promise<void> {
  let end: { code: number | null } | undefined
  run.ended().then((it) => {
    end = it
  })
  await expect.poll(() => end !== undefined || isUnderWay(), { timeout: 60_000, interval: 5 }).toBe(true)
  if (end !== undefined) expect(end).toMatchObject({ code: 0 })
}

const reasonOf = (reason: string | undefined) => (reason === undefined ? '' : ` (${reason})`)

describe.skipIf(!mayUnshare)(
  `the docs' blocks${reasonOf(mayUnshare ? undefined : 'needs root, or user namespaces')}`,
  () => {
    for (const { page, line, text, marks } of blocks.filter(({ language }) => language === 'js')) {
      const [mark] = marks
      const notRun = mark?.kind === 'not run' ? mark.reason : undefined
      test.skipIf(notRun !== undefined)(`${page}:${line} runs${reasonOf(notRun)}`, async () => {
        const run = onStage(
          `exec '${process.execPath}' --disable-warning=INOTIFY_BRIDGE_SLOW_POLL block.mjs`,
          { 'block.mjs': text },
          mark?.reason,
        )
        await expectWell(run, () => mark?.kind === 'goes on' && run.stdout !== '')
        expect(run.stderr).toBe('')
        if (mark?.kind === 'goes on') expect(run.stdout).not.toBe('')
      })
    }

    // examples/shown.test.ts runs the examples.
    const lines = blocks.flatMap(commandLinesOf).filter(({ text }) => !text.startsWith('node examples/'))
    for (const { text, where, notRun } of lines) {
      test.skipIf(notRun !== undefined)(`${where}: ${text}${reasonOf(notRun)}`, async () => {
        const run = onStage(text, {})
        await expectWell(run, () => UNDER_WAY.test(run.stdout + run.stderr))
      })
    }
  },
)
