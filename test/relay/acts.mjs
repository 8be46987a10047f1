// Random changes of a small tree. As a program it makes them for ever: its arguments are the directory and the seed.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../watch/random.mjs'

const NAMES = ['a', 'a/b', 'a/b/c', 'd', 'd/e', 'f', 'a/f', 'a/b/g']

/**
 * Makes one change, unless it cannot be made to what is there.
 *
 * @param {string} root
 * @param {(n: number) => number} random
 */
export function act(root, random) {
  const any = () => join(root, NAMES[random(NAMES.length)] ?? '')
  const acts = [
    () => mkdirSync(any(), { recursive: true }),
    () => writeFileSync(any(), `${random(1000)}`),
    () => renameSync(any(), any()),
    () => rmSync(any(), { recursive: true }),
  ]
  try {
    acts[random(acts.length)]?.()
  } catch {
    // It cannot be.
  }
}

if (import.meta.filename === process.argv[1]) {
  const [, , root = '', seed] = process.argv
  const random = randomFrom(Number(seed))
  for (;;) {
    act(root, random)
    await sleep(random(3))
  }
}
