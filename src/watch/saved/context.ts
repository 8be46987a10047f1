import type { Settings } from '../options.ts'
import type { Makers } from '../report/makers.ts'
import type { Reporter } from '../report/reporter.ts'
import type { Rules } from '../rules.ts'
import type { SourceChoice } from '../source_choice.ts'
import type { WatchSystem } from '../system.ts'
import type { Tree } from '../tree/tree.ts'
import type { WatchLimit } from '../tree/watch_limit.ts'

/** The objects that every room from `saved/` up may use. Each room's context adds those of the rooms below. */
export interface SavedContext {
  readonly settings: Settings
  readonly system: WatchSystem
  readonly rules: Rules
  readonly makers: Makers | undefined
  readonly sourceChoice: SourceChoice
  readonly reporter: Reporter
  readonly tree: Tree
  /** undefined: as many watches as the kernel allows. */
  readonly watchLimit: WatchLimit | undefined
}
