// node enter_swapped.mjs PROGRAM SWAPPER SCRATCH TRIES: starts the program that covers a directory, while a neighbour who may write beside
// the directory puts a symlink in its place. Says how often what the link leads to was covered, and what else has happened.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'

const [program, swapper, scratch, tries] = /** @type {[string, string, string, string]} */ (
  process.argv.slice(2)
)
const { ENOENT, ENOTDIR } = constants.errno
const victim = join(scratch, 'victim')
mkdirSync(victim)
const seen = { directory: 0, victim: 0, refused: 0 }
for (let i = 0; i < Number(tries); i++) {
  const directory = join(scratch, `${i}`)
  mkdirSync(directory)
  const neighbour = spawn(swapper, [program, directory, `${directory}-away`, victim])
  const swapped = once(neighbour, 'exit')
  await once(neighbour.stdout, 'data')
  const argv = [directory, '1048576', '', 'true']
  const child = spawn(program, argv, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  const ended = once(child, 'exit')
  const socket = /** @type {import('node:stream').Duplex} */ (child.stdio[3])
  const line = String((await once(socket, 'data'))[0])
  // The link, or nothing yet.
  if ([ENOTDIR, ENOENT].some((errno) => line === `failed open ${errno}\n`)) seen.refused++
  else if (line.startsWith('ready')) {
    const mounts = readFileSync(`/proc/${child.pid}/mountinfo`, 'utf8')
    seen[mounts.includes(` ${victim} `) ? 'victim' : 'directory']++
  } else throw new Error(line)
  socket.destroy()
  await Promise.all([ended, swapped])
}
process.stdout.write(JSON.stringify(seen))
