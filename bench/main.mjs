// npm run bench: how inotify-bridge compares with fs.watch, and with a C program that does nothing but read(2).
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeHost } from './host.mjs'
import { ask, watcherOf } from './question.mjs'
import { blockedLoop } from './questions/events/blocked_loop.mjs'
import { burst } from './questions/events/burst.mjs'
import { calls } from './questions/events/calls.mjs'
import { capacity } from './questions/events/capacity.mjs'
import { idle } from './questions/events/idle.mjs'
import { latency } from './questions/events/latency.mjs'
import { rates } from './questions/events/rates.mjs'
import { run } from './questions/events/run.mjs'
import { storm } from './questions/events/storm.mjs'
import { watches } from './questions/events/watches.mjs'
import { command } from './questions/starting/command.mjs'
import { imports } from './questions/starting/imports.mjs'
import { chokidar } from './questions/trees/chokidar.mjs'
import { fileRoots } from './questions/trees/file_roots.mjs'
import { growth } from './questions/trees/growth.mjs'
import { poll } from './questions/trees/poll.mjs'
import { recovery } from './questions/trees/recovery.mjs'
import { setUp } from './questions/trees/set_up.mjs'
import { since } from './questions/trees/since.mjs'
import { asData, asLines, asText } from './report.mjs'
import { makeScratch } from './scratch.mjs'
import { preparePeers } from './watchers/outside.mjs'

const QUESTIONS = [
  capacity,
  storm,
  rates,
  burst,
  latency,
  blockedLoop,
  watches,
  calls,
  idle,
  run,
  imports,
  command,
  setUp,
  fileRoots,
  growth,
  chokidar,
  since,
  recovery,
  poll,
]

const HELP = `Usage: npm run bench -- [options] [question ...]

Questions (all, when none is named):
${QUESTIONS.map(({ name, asks }) => `  ${name.padEnd(14)}${asks}`).join('\n')}

Options:
  --rounds N    measure every subject N times (each question has its own default)
  --quick       two rounds at the most, without the subjects that take longest: to see that it works
  --json        one JSON document on stdout, with the figures of every round
  --since FILE  with --json: the document of an earlier run on this machine, of which all stays that is not asked now
  --check       exit with 1 when a target is not met
  --help`

const { values: options, positionals } = readArguments()
if (options.help) {
  console.log(HELP)
  process.exit()
}
const rounds = options.rounds === undefined ? undefined : Number(options.rounds)
if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0)) usage(`--rounds: ${options.rounds}`)
const unknown = positionals.find((name) => !QUESTIONS.some((question) => question.name === name))
if (unknown !== undefined) usage(`there is no question ${unknown}`)

const asked =
  positionals.length === 0 ? QUESTIONS : QUESTIONS.filter(({ name }) => positionals.includes(name))
const scratch = makeScratch()
const peers = preparePeers(
  asked.flatMap(({ subjects }) => subjects.map(watcherOf)),
  scratch.path,
)
const host = describeHost(peers)
const earlier = options.since === undefined ? undefined : readResults(options.since)
if (!options.json) {
  console.log(`Linux ${host.kernel}, node ${host.node}, ${host.cpus} x ${host.model}; ${host.peers}`)
  if (host.leftOut !== '') console.log(`Left out, as it is not installed: ${host.leftOut}`)
}

const answers = []
for (const question of asked) {
  const count = rounds ?? (options.quick ? Math.min(2, question.rounds) : question.rounds)
  const isLeftOut = (/** @type {string} */ subject) =>
    peers.missing.includes(watcherOf(subject)) ||
    (options.quick === true && question.isSlow?.(subject) === true)
  const subjects = question.subjects.filter((subject) => !isLeftOut(subject))
  const answer = await ask({ ...question, subjects }, count, { scratch, peers }, showProgress)
  showProgress('')
  if (!options.json) console.log(`\n${asText(answer)}`)
  answers.push(answer)
}
if (options.json) {
  const measured = answers.map(asData)
  const kept = (earlier?.questions ?? []).filter((each) => !measured.some(({ name }) => name === each.name))
  const questions = QUESTIONS.flatMap(({ name }) =>
    [...measured, ...kept].filter((each) => each.name === name),
  )
  console.log(asLines({ host: { ...(earlier?.host ?? host), date: host.date }, questions }))
}
const met = answers.every(({ targets }) => targets.every((target) => target.met))
process.exitCode = options.check && !met ? 1 : 0

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        quick: { type: 'boolean' },
        json: { type: 'boolean' },
        since: { type: 'string' },
        check: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error))
  }
}

/** @param {string} file @returns {{ host: typeof host, questions: ReturnType<typeof asData>[] }} */
function readResults(file) {
  if (!options.json) usage('--since: it goes with --json')
  try {
    const results = JSON.parse(readFileSync(file, 'utf8'))
    const other = /** @type {const} */ (['kernel', 'node', 'model']).find(
      (key) => results.host[key] !== host[key],
    )
    if (other !== undefined) throw new Error(`its ${other} is ${results.host[other]}, not ${host[other]}`)
    if (!Array.isArray(results.questions)) throw new Error('it has no questions')
    return results
  } catch (error) {
    return usage(`--since ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/**
 * @param {string} problem
 * @returns {never}
 */
function usage(problem) {
  console.error(`bench: ${problem}\n\n${HELP}`)
  process.exit(2)
}

/** One line that is written over, on a terminal; in a log, a line each. @param {string} progress */
function showProgress(progress) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${progress}`)
  else if (progress !== '') process.stderr.write(`${progress}\n`)
}
