import type { Command } from './shared/command.ts'

/** Loaded when it is asked for: to load all of them takes longer than what most of them do. */
interface Entry {
  readonly summary: string
  load(): Promise<Command>
}

export const COMMANDS: ReadonlyMap<string, Entry> = new Map(
  Object.entries({
    watch: {
      summary: 'print the changes in directories, by inotify or by polling, as their mount needs',
      load: async () => (await import('./watch/watch.ts')).watchCommand,
    },
    mirror: {
      summary: 'copy a directory that delivers no events to one that does',
      load: async () => (await import('./mirror/mirror.ts')).mirrorCommand,
    },
    publish: {
      summary: 'put files in place so that watchers see IN_MOVED_TO, and readers never half a file',
      load: async () => (await import('./publish/publish.ts')).publishCommand,
    },
    reload: {
      summary: 'signal, call or restart a program when its configuration has changed',
      load: async () => (await import('./reload/reload.ts')).reloadCommand,
    },
    run: {
      summary: 'run a program of any language that hears of changes on every mount, by inotify',
      load: async () => (await import('./run/run.ts')).runCommand,
    },
    exec: {
      summary: 'run a program of Node that hears of changes on every mount: hot reload in a container or VM',
      load: async () => (await import('./exec/exec.ts')).execCommand,
    },
    diagnose: {
      summary: 'say what a path can and cannot deliver, and why',
      load: async () => (await import('./diagnose/diagnose.ts')).diagnoseCommand,
    },
    completion: {
      summary: 'print what has a shell complete the commands and their options',
      load: async () => (await import('./completion/completion.ts')).completionCommand,
    },
  }),
)
