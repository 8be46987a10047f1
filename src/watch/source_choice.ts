import { InotifyError } from '../errors.ts'
import { inotifyRefusal } from '../inotify/refusal.ts'
import type { Choice } from '../mounts/filesystems.ts'
import { textOf } from '../name_key.ts'
import type { Settings } from './options.ts'
import type { Makers } from './report/makers.ts'
import type { WatchSystem } from './system.ts'

/** Chooses the source that tells of a mount: the one that was asked for, or the one that the mount's type calls for. */
export class SourceChoice {
  readonly #system: WatchSystem
  readonly #backend: Settings['backend']
  readonly #makers: Makers | undefined

  /** @param makers says who makes changes where inotify tells of them, if that is asked for */
  constructor(system: WatchSystem, { backend }: Settings, makers: Makers | undefined) {
    this.#system = system
    this.#backend = backend
    this.#makers = makers
  }

  /** True: polls may stand in where no watch or no inotify instance is left. */
  get mayFallBack(): boolean {
    return this.#backend === 'auto'
  }

  /** Returns the source for a root. Rejects if its path cannot be looked at. */
  async choose(path: string): Promise<Choice> {
    // Checked before anything is looked for: what comes later at a path could not be watched either.
    const refusal = this.#backend === 'inotify' ? inotifyRefusal() : undefined
    if (refusal !== undefined) throw refusal
    return this.insteadOf(path, await this.#system.choose(path))
  }

  /** Returns the source to use for a path, in place of the one that its mounts call for. */
  insteadOf(path: string, chosen: Choice): Choice {
    const backend = this.#backend === 'auto' ? chosen.backend : this.#backend
    if (backend !== 'poll') this.#makers?.cover(path)
    if (this.#backend === 'auto') return chosen
    const why = `asked for, where ${chosen.backend} would have been chosen (${chosen.why})`
    return { ...chosen, backend, why }
  }

  /** Returns the source for a path (a key) below a root, or for a link's target; `refused`: it is no place for files. Rejects likewise. */
  async chooseBelow(path: string): Promise<Choice | { refused: Error }> {
    const type = await this.#system.pseudoType(path)
    if (type === undefined) return await this.choose(path)
    const hint = `${type} tells of no changes; watch it as a root of its own to have it polled`
    return { refused: new InotifyError({ errno: 'ENOTSUP', syscall: 'watch', path: textOf(path), hint }) }
  }
}
