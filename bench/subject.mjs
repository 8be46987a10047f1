// A child process of the benchmark: subject.mjs QUESTION WATCHER DIRECTORY ARG... has questions/QUESTION.mjs answer with WATCHER.
import { writeSync } from 'node:fs'

const [question, watcher = '', directory = '', ...args] = process.argv.slice(2)
const { answer } = await import(`./questions/${question}.mjs`)
// Synchronously: a subject may block its loop right after it has said something.
await answer({ watcher, directory, args, say })

/** @param {object} message */
function say(message) {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

/**
 * @typedef {object} Subject
 * @property {string} watcher
 * @property {string} directory
 * @property {string[]} args
 * @property {(message: object) => void} say
 */
