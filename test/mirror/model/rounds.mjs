import fc from 'fast-check'

/**
 * A step: what is done, to which source, and a number that decides the rest (see random.mjs).
 *
 * @typedef {readonly [what: string, source: number, seed: number]} Step
 */

/**
 * @typedef {object} Round
 * @property {number} seed
 * @property {readonly import('./source.mjs').Layout[]} layouts of its sources
 * @property {string} target the file system of the target
 * @property {readonly Step[]} steps
 */

/** Steps by how often they are made. */
const STEPS = /** @type {const} */ ([
  ['swap', 22],
  ['flat', 14],
  ['volume', 10],
  ['worktree', 7],
  ['rotate', 14],
  ['quiet', 30],
  ['twice', 12],
  ['bulk', 7],
  ['convert', 5],
  ['replace', 4],
  ['remake', 3],
  ['odd', 4],
  ['away', 3],
  ['back', 3],
  ['start', 14],
  ['stop', 6],
  ['attack', 8],
  ['attack ..data', 3],
  ['attack directory', 2],
  ['theirs', 4],
])

const step = fc.oneof(
  ...STEPS.map(([what, weight]) => ({
    weight,
    arbitrary: /** @type {fc.Arbitrary<Step>} */ (
      fc.tuple(fc.constant(what), fc.nat({ max: 2 }), fc.nat({ max: 0x7fffffff }))
    ),
  })),
)

const directory = fc.constantFrom(
  .../** @type {const} */ (['configmap', 'configmap', 'chained', 'flat', 'flat']),
)
const layouts = fc.oneof(
  { weight: 1, arbitrary: fc.constant(/** @type {const} */ (['file'])) },
  { weight: 3, arbitrary: fc.tuple(directory) },
  { weight: 3, arbitrary: fc.tuple(directory, directory) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      directory,
      directory,
      fc.oneof(directory, fc.constant(/** @type {const} */ ('file'))),
    ),
  },
)

/** Rounds. They shrink by steps and sources left out; a step stays as it is. @extends {fc.Arbitrary<Round>} */
class RoundArbitrary extends fc.Arbitrary {
  #full

  /** @param {readonly string[]} targets */
  constructor(targets) {
    super()
    this.#full = fc.record({
      seed: fc.nat({ max: 0x7fffffff }),
      layouts: /** @type {fc.Arbitrary<import('./source.mjs').Layout[]>} */ (
        /** @type {unknown} */ (layouts)
      ),
      target: fc.constantFrom(...targets),
      steps: fc.array(step, { minLength: 10, maxLength: 24 }),
    })
  }

  /** @override @param {fc.Random} random @returns {fc.Value<Round>} */
  generate(random) {
    return new fc.Value(this.#full.generate(random, undefined).value, undefined)
  }

  /** @override @param {unknown} _value @returns {_value is Round} */
  canShrinkWithoutContext(_value) {
    return true
  }

  /** @override @param {Round} round @returns {fc.Stream<fc.Value<Round>>} */
  shrink(round) {
    return fc.stream(smaller(round)).map((each) => new fc.Value(each, undefined))
  }
}

/** @param {Round} round @returns {IterableIterator<Round>} */
function* smaller(round) {
  const { steps, layouts } = round
  for (let size = steps.length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < steps.length; at += size) yield { ...round, steps: steps.toSpliced(at, size) }
  }
  if (layouts.length > 1)
    for (const at of layouts.keys()) yield { ...round, layouts: layouts.toSpliced(at, 1) }
}

/** @param {readonly string[]} targets kinds of file systems @returns {fc.Arbitrary<Round>} */
export function rounds(targets) {
  return new RoundArbitrary(targets)
}
