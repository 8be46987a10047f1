import fc from 'fast-check'

/** An operation of ../../../native/tree_writer.c: the fields of one of its lines. */
export type Operation = readonly string[]

/** The operations of one writer, in order. */
export type Script = readonly Operation[]

/**
 * Segments, each with a script for each writer. The scripts of a segment run at the same time, and the next
 * segment follows when all are done.
 */
export type Round = readonly (readonly Script[])[]

// The names are few, so that the writers meet. One is not ASCII, one has a space, one looks like an option.
export const FILES = ['a', 'b', 'é'] as const
export const DIRECTORIES = ['c', 'x y', '-rf'] as const
const NAMES = [...FILES, ...DIRECTORIES] as const

// Most names are either for files or for directories: with free choice most operations would fail, and the
// exceptions test enough.
const exceptional = { weight: 1, arbitrary: fc.constantFrom(...NAMES) }
const fileName = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...FILES) }, exceptional)
const directoryName = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...DIRECTORIES) }, exceptional)

// The targets are relative to the link and never lead upwards, so that no writer leaves the tree.
const fileTargets = ['c/a', '-rf/c/b', 'dangling']
const directoryTargets = ['c/x y', '-rf/c', 'x y/-rf']
const mode = fc.constantFrom('0700', '0711', '0750', '0777')
const microseconds = fc.integer({ min: 1, max: 4000 }).map(String)

const operation = (what: string, weight: number, ...fields: fc.Arbitrary<string>[]) => ({
  weight,
  arbitrary: fc.tuple(fc.constant(what), ...fields) as fc.Arbitrary<Operation>,
})

/** The subjects of the operations. */
export interface Subjects {
  /** The beginnings of paths, all equally likely: '', or with a slash at the end. */
  prefixes: readonly string[]
  /** The paths of planted entries, which are too many to be met by chance. */
  planted: fc.Arbitrary<string> | undefined
  exchanges: boolean
  /** Follows links: some lead out of the tree or round in a circle, and some are swapped. */
  links: boolean
}

/** Generates paths of one to five names, the last of them `name`. */
function pathTo(name: fc.Arbitrary<string>, prefixes: readonly string[]): fc.Arbitrary<string> {
  const below = (depth: number) =>
    fc
      .tuple(
        fc.constantFrom(...prefixes),
        fc.array(directoryName, { minLength: depth, maxLength: depth }),
        name,
      )
      .map(([prefix, directories, last]) => prefix + [...directories, last].join('/'))
  const weights = [7, 7, 4, 2, 1]
  return fc.oneof(...weights.map((weight, depth) => ({ weight, arbitrary: below(depth) })))
}

function operationsAbout({ prefixes, planted, exchanges, links }: Subjects): fc.Arbitrary<Operation> {
  const anyFile = pathTo(fileName, prefixes)
  const file =
    planted === undefined
      ? anyFile
      : fc.oneof({ weight: 2, arbitrary: anyFile }, { weight: 1, arbitrary: planted })
  const directory = pathTo(directoryName, prefixes)
  const any = pathTo(fc.constantFrom(...NAMES), prefixes)
  const fileTarget = fc.oneof(
    fileName,
    fc.constantFrom(...fileTargets, ...(links ? ['@/one/a', '@/one/b', '@/current/b'] : [])),
  )
  const directoryTarget = fc.oneof(
    directoryName,
    fc.constantFrom(...directoryTargets, ...(links ? ['.', '..', '@/one', '@/two', '@/current'] : [])),
  )
  return fc.oneof(
    operation('create', 6, file),
    operation('append', 8, file),
    operation('rewrite', 8, file),
    operation('late', 2, microseconds, file),
    operation('save', 5, file),
    operation('unnamed', 3, file),
    operation('mkdir', 10, directory),
    operation('chain', 4, directory),
    operation('rmdir', 4, directory),
    operation('unlink', 6, file),
    operation('rename', 8, file, file),
    operation('rename', 8, directory, directory),
    operation('rename', 3, any, any),
    ...(exchanges
      ? [
          operation('exchange', 2, file, file),
          operation('exchange', 2, directory, directory),
          operation('exchange', 1, any, any),
          operation('trade', 1, directoryTarget, directory),
        ]
      : []),
    operation('link', 4, file, file),
    operation('symlink', 4, fileTarget, file),
    operation('symlink', 2, directoryTarget, directory),
    ...(links
      ? [
          operation('point', 2, fileTarget, file),
          operation('point', 2, directoryTarget, directory),
          operation('point', 2, fc.constantFrom('one', 'two', 'none'), fc.constant('../outside/current')),
        ]
      : []),
    operation('mkfifo', 1, file),
    operation('chmod', 3, mode, any),
    operation('utimes', 2, any),
    operation('out', 1, any),
    operation('out', 2, directory),
    operation('back', 3, directory),
    operation('in', 3, directory),
    operation('swap', 1, directoryTarget, directory),
    operation('remove', 3, directory),
    operation('copy', 3, directory, directory),
    // A pause lets the watcher see a state in between.
    operation('pause', 2, microseconds),
    operation('mark', 1),
  )
}

/**
 * Generates a script of `length` operations. Shrinks by leaving pieces out, the largest first. The operations
 * themselves do not change.
 */
class ScriptArbitrary extends fc.Arbitrary<Script> {
  readonly #full: fc.Arbitrary<Script>

  constructor(operations: fc.Arbitrary<Operation>, length: number) {
    super()
    this.#full = fc.array(operations, { minLength: length, maxLength: length })
  }

  generate(random: fc.Random): fc.Value<Script> {
    return new fc.Value(this.#full.generate(random, undefined).value, undefined)
  }

  canShrinkWithoutContext(_value: unknown): _value is Script {
    return true
  }

  shrink(script: Script): fc.Stream<fc.Value<Script>> {
    return fc.stream(without(script)).map((shorter) => new fc.Value(shorter, undefined))
  }
}

function* without(script: Script): IterableIterator<Script> {
  for (let size = script.length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < script.length; at += size) yield script.toSpliced(at, size)
  }
}

/**
 * Generates rounds of `segments` segments, in each of which `writers` writers do `length` operations each.
 */
export function rounds(
  segments: number,
  writers: number,
  length: number,
  subjects: Subjects = { prefixes: [''], planted: undefined, exchanges: true, links: false },
): fc.Arbitrary<Round> {
  const operations = operationsAbout(subjects)
  const segment = fc.tuple(...Array.from({ length: writers }, () => new ScriptArbitrary(operations, length)))
  return fc.tuple(...Array.from({ length: segments }, () => segment))
}
