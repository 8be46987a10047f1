import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { printable } from '../../errors.ts'
import type { MirrorArguments } from '../mirror/mirror_options.ts'
import { flagsOf, reportMirror } from '../mirror/mirror_report.ts'
import { mirrorStatus } from '../mirror/mirror_status.ts'
import { completed, startMirror } from '../mirror/start.ts'
import { startService } from '../service/service.ts'
import type { Ending } from '../shared/ending.ts'
import { reportOnStderr } from '../shared/output.ts'
import { passSignals } from '../shared/run_program.ts'
import { enter } from './enter.ts'

/**
 * `mirror SOURCE --in-place -- COMMAND`: runs the command in a mount namespace of its own in which the mirror lies over SOURCE,
 * from the first complete pass on. This process stays outside, where SOURCE is what it was.
 */
export async function runInPlace(
  settings: MirrorArguments,
  command: readonly [string, ...string[]],
): Promise<Ending> {
  const directory = await directoryAt(settings.target)
  const status = mirrorStatus(settings.sources, settings.target)
  await using service = await startService('mirror', settings, status, reportOnStderr)

  const size = sizeFor(settings.options.limits)
  const here = process.cwd()
  const workingDirectory = `${here}/`.startsWith(`${directory}/`) ? here : ''
  await using entrant = await enter({ directory, size, workingDirectory, command })
  using _ = passSignals(entrant.child)
  const target = await entrant.covered()
  // A signal that was passed on may have ended the process before it became the command.
  if (target === undefined) return await entrant.ended
  const mirrored = await startMirror([directory], target, settings.options, entrant.ended)
  if (mirrored === undefined) return await entrant.ended
  try {
    await completed(mirrored, entrant.ended)
    if (entrant.hasEnded()) return await entrant.ended
    const asKnown = (text: string) => text.replaceAll(target, directory)
    status.follow(mirrored)
    const { unready } = status
    if (unready !== undefined) {
      const flags = flagsOf(unready)
      const why = asKnown(unready) + (flags && `: raise ${flags}`)
      throw new Error(`'${printable(directory)}' is not complete, and the command is not started: ${why}`)
    }
    reportMirror(mirrored, reportOnStderr, asKnown)
    await entrant.go()
    return await entrant.ended
  } finally {
    await service[Symbol.asyncDispose]()
    // Programs that the command has left running in its namespace go on reading; else all goes with the namespace.
    await mirrored.close({ keep: true })
  }
}

/** Returns the absolute path without links: the mirror is mounted over this very directory. */
async function directoryAt(source: string): Promise<string> {
  const directory = await realpath(resolve(source))
  if (!(await stat(directory)).isDirectory()) {
    throw new Error(
      `ENOTDIR: '${printable(source)}' is no directory: --in-place mirrors the directory that a file is in`,
    )
  }
  if (directory === '/')
    throw new Error("--in-place cannot cover '/': name the directory that changes unseen")
  return directory
}

/**
 * Returns the tmpfs size in bytes. Two versions fit, as the new one is complete before the old one goes. Each file takes whole pages (of
 * 64 KiB on some arm64), and the mirror needs some bytes itself. A tmpfs takes no memory for space that is not used.
 */
function sizeFor({ files, bytes }: { files: number; bytes: number }): bigint {
  const page = process.arch === 'arm64' ? 65536n : 4096n
  return 2n * (BigInt(bytes) + BigInt(files) * page) + 2n ** 20n
}
