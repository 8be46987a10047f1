import { basename } from 'node:path'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { keysOf } from '../../publish/directory/keys.ts'
import { followToDirectory } from '../../publish/draft/place.ts'
import { publishKeys } from '../../publish/publish_directory.ts'
import { replaceFileAs, replaceFileIn } from '../../publish/replace_file.ts'
import { TOUCHED_NAME, touchDirectory } from '../../publish/touch.ts'
import type { Command } from '../shared/command.ts'
import { report, tell } from '../shared/output.ts'
import { type Input, readInput } from './input.ts'
import {
  PUBLISH_OPTIONS,
  type PublishArguments,
  readPublishArguments,
  requireNames,
} from './publish_options.ts'

/** The time from a signal to the end, in ms. */
const GRACE_MS = 1000

export const publishCommand: Command = {
  summary: 'put files in place so that watchers see IN_MOVED_TO, and readers never half a file',
  usage: [
    '[OPTIONS] FILE DEST',
    '[OPTIONS] FILE... DIRECTORY',
    '[OPTIONS] --configmap FILE... DIRECTORY',
    '--touch DIRECTORY',
  ],
  about: `Copies what is in FILE ('-' is stdin), up to 64 MiB, to DEST, or under its own name into DIRECTORY, so that whoever watches the
directory sees one IN_MOVED_TO of the name and readers find the old content or the new one: it is written beside DEST, on the disk, and
renamed. FILE stays. Owner and mode of a DEST that is there are kept; a new one has 644, and of that nothing that FILE has not (of a FILE
with 600, 600). Where DEST is a symlink, the file that it leads to is replaced.

Several files are published one after another. With --configmap they are published together, in the layout of a ConfigMap volume: a
version directory behind ..data, and a link for each key, its FILE's name. Keys that are not among them any more are removed; the same
content again writes nothing. DIRECTORY is made if it is missing. Modes are those of new files, and of directories as much as those need.`,
  options: PUBLISH_OPTIONS,
  notes: 'Exit code: 0 done, 1 failed, 2 wrong usage.',
  examples: [
    'generate-config | inotify-bridge publish - /etc/app/app.yaml',
    'inotify-bridge publish --mode 600 --touch /etc/envoy/watched tls.crt tls.key /etc/envoy/certs',
    'inotify-bridge publish --configmap app.yaml users.yaml /run/config',
  ],
  printsLog: true,
  async run(args, signal) {
    const settings = readPublishArguments(args)
    signal.addEventListener('abort', endSoon, { once: true })
    const calls = new SyscallThread()
    try {
      const touched: Array<[string, DirectoryHandle]> = []
      for (const path of settings.touch) touched.push([path, await followToDirectory(calls, path)])
      await publish(calls, settings, signal)
      for (const [path, directory] of touched) {
        await touchDirectory(directory, path)
        report('touched', { path, name: TOUCHED_NAME }, `touched ${path}`)
      }
    } finally {
      calls.end()
    }
    return 0
  },
}

/**
 * Ends soon after a signal. A publication takes a moment, but a mount that does not answer would hold the command for ever, and another
 * publisher's lock for long. An interrupted publication leaves the old content, as kill -9 does.
 */
function endSoon(): void {
  setTimeout(() => {
    tell('ended by a signal; what is not reported has not been published')
    process.exit(1)
  }, GRACE_MS).unref()
}

async function publish(calls: SyscallThread, settings: PublishArguments, signal: AbortSignal): Promise<void> {
  const { files, target, configmap, mode } = settings
  if (target === undefined) return
  if (configmap) {
    const inputs = await readAll(files, signal)
    const keys = inputs.map(([key, { data, newMode, group }]) =>
      mode === undefined ? { key, data, mode: newMode, group } : { key, data, mode },
    )
    const { changed } = await publishKeys(target, keysOf(keys))
    const names = keys.map(({ key }) => key)
    const text = `${changed ? 'published' : 'unchanged'} ${target}: ${names.join(' ')}`
    report('published', { path: target, keys: names, changed }, text)
    return
  }
  const isDirectory = files.length > 1 || /(^|\/)\.{0,2}$/.test(target)
  // Held, whatever has its path later.
  const directory = await followToDirectory(calls, target).catch((error) => {
    if (isDirectory || !['ENOENT', 'ENOTDIR'].includes(codeOf(error))) throw error
  })
  if (directory) requireNames(files)
  // All files are read before the first is published: a missing file must not leave half of them new.
  for (const [name, { data, newMode, group }] of await readAll(files, signal)) {
    const path = directory ? `${target.replace(/\/+$/, '')}/${name}` : target
    const replacement = { data, mode, newMode, newGroup: group }
    await (directory ? replaceFileIn(directory, name, path, replacement) : replaceFileAs(path, replacement))
    report('published', { path, bytes: data.length }, `published ${path}`)
  }
}

/** Reads files, each under its own name. */
async function readAll(files: readonly string[], signal: AbortSignal): Promise<Array<[string, Input]>> {
  const read: Array<[string, Input]> = []
  for (const file of files) read.push([basename(file), await readInput(file, signal)])
  return read
}
