// node player.mjs SCENARIO CONTROL, with faults.c preloaded: plays a scenario once for each line of standard
// input, [call, errno, step, skip, most], and answers each with a line. The first line of output is the
// number of times that each call is made in each step without faults.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { Control } from './control.mjs'
import { SCENARIOS } from './scenario.mjs'

const [name = '', path = ''] = process.argv.slice(2)
const make = SCENARIOS[name]
if (make === undefined) throw new Error(`there is no scenario '${name}'`)
const control = new Control(path)
const say = (/** @type {object} */ what) => process.stdout.write(`${JSON.stringify(what)}\n`)

// A second, in ticks of this very process: on a busy machine a tick takes as much longer as everything else
// does.
const TICK_MS = 10
const SECOND = 100
// The ticks of a fault.
const LASTING = 12

/**
 * Returns the number of ticks until a condition held, or undefined.
 *
 * @param {number} ticks
 * @param {() => boolean | Promise<boolean>} holds
 */
async function within(ticks, holds) {
  for (let tick = 0; tick <= ticks; tick++) {
    if (await holds()) return tick
    await setTimeout(TICK_MS)
  }
  return undefined
}

/** @param {unknown} error */
function inWords(error) {
  const { code, syscall } = /** @type {{ code?: unknown, syscall?: unknown }} */ (error)
  return typeof code === 'string'
    ? typeof syscall === 'string'
      ? `${code} ${syscall}`
      : code
    : `untyped: ${error}`
}

const descriptors = () => readdirSync('/proc/self/fd').length

/**
 * @param {string} call
 * @param {keyof typeof constants.errno} errno
 * @param {'begin' | 'act'} step
 * @param {number} skip
 * @param {number} most
 */
async function play(call, errno, step, skip, most) {
  const scratch = mkdtempSync('/dev/shm/inotify-bridge-faults-')
  const before = descriptors()
  const scenario = /** @type {import('./scenario.mjs').Make} */ (make)(scratch)
  let isOver = false
  let isRefused = false
  const attempt = (/** @type {() => Promise<void>} */ act) =>
    act().catch((/** @type {unknown} */ error) => {
      isRefused = true
      scenario.errors.push(error)
    })
  if (step === 'act') await scenario.begin()
  control.fail(call, constants.errno[errno], skip, most)
  const attempted = attempt(() => scenario[step]()).then(() => {
    isOver = true
  })
  // Looks if the scenario goes on while the fault lasts.
  const meanwhile = await within(
    LASTING,
    async () => isOver && scenario.errors.length === 0 && (await scenario.isRight()),
  )
  const failed = control.stop()
  const answered = await within(SECOND, () => isOver)
  const wasRefused = isRefused
  const hasBegun = step === 'act' || !wasRefused
  if (answered !== undefined && step === 'begin' && hasBegun) await attempt(() => scenario.act())
  const isNowRight = () => within(SECOND, () => scenario.isRight())
  let right = hasBegun ? await isNowRight() : undefined
  if (right !== undefined && scenario.actAgain !== undefined) {
    await attempt(() => /** @type {() => Promise<void>} */ (scenario.actAgain)())
    const again = await isNowRight()
    right = again === undefined ? undefined : Math.max(right, again)
  }
  const known = [...new Set(right === undefined ? scenario.known?.().map(inWords) : [])]
  if (answered !== undefined) await attempted
  const errors = [...new Set(scenario.errors.map(inWords))]
  await attempt(() => scenario.end())
  const closed = await within(SECOND, () => descriptors() <= before)
  const left = closed === undefined ? descriptors() - before : 0
  rmSync(scratch, { recursive: true, force: true })
  const answer = answerOf({ meanwhile, answered, right, isRefused: wasRefused, errors, known })
  return { answer, failed, meanwhile, answered, right, errors, known, left }
}

/**
 * Returns the answer in the words of docs/faults.md, or 'hangs' or 'silent', which are none of them.
 *
 * @param {{ meanwhile: number | undefined, answered: number | undefined, right: number | undefined, isRefused: boolean, errors: string[], known: string[] }} result
 */
function answerOf({ meanwhile, answered, right, isRefused, errors, known }) {
  if (answered === undefined) return 'hangs'
  if (isRefused) return 'refused'
  if (right !== undefined) {
    if (errors.length > 0) return 'told'
    return meanwhile === undefined ? 'made up' : 'goes on'
  }
  if (known.length > 0) return 'uncovered'
  return errors.length > 0 ? 'ends' : 'silent'
}

/**
 * Counts the calls that a step makes.
 *
 * @param {'begin' | 'act'} step
 */
async function count(step) {
  const made = () => control.names.map((call) => control.made(call))
  const first = made()
  await play(control.names[0] ?? '', 'EIO', step, 0, 0)
  const last = made()
  return Object.fromEntries(control.names.map((call, i) => [call, (last[i] ?? 0) - (first[i] ?? 0)]))
}

// The first round also loads code and starts threads that stay, and is not counted.
await count('begin')
say(await count('begin'))
for await (const line of createInterface(process.stdin)) {
  const [call, errno, step, skip, most] = JSON.parse(line)
  say({ call, errno, step, skip, ...(await play(call, errno, step, skip, most)) })
}
control.close()
