import type { Command } from './shared/command.ts'

/** Each is loaded when it is asked for: to load all of them takes longer than what most of them do. */
export const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    watch: async () => (await import('./watch/watch.ts')).watchCommand,
    mirror: async () => (await import('./mirror/mirror.ts')).mirrorCommand,
    publish: async () => (await import('./publish/publish.ts')).publishCommand,
    reload: async () => (await import('./reload/reload.ts')).reloadCommand,
    relay: async () => (await import('./relay/relay.ts')).relayCommand,
    run: async () => (await import('./run/run.ts')).runCommand,
    exec: async () => (await import('./exec/exec.ts')).execCommand,
    diagnose: async () => (await import('./diagnose/diagnose.ts')).diagnoseCommand,
    completion: async () => (await import('./completion/completion.ts')).completionCommand,
  }),
)
