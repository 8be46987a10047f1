import type { RootsContext } from '../context.ts'
import type { Coverings } from './covering.ts'
import type { RootForest } from './root_forest.ts'

/** The objects of `roots/` by which a root finds its place among the others. */
export interface ForestContext extends RootsContext {
  readonly coverings: Coverings
  readonly forest: RootForest
}
