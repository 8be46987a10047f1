import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { compile } from '../../../support/compile.ts'
import type { Script } from './operations.ts'

interface Writer {
  process: ChildProcess
  lines: Interface
}

/** Processes that change one tree at the same time: ../../../native/tree_writer.c. */
export class Writers implements AsyncDisposable {
  /** Inodes that have or had two names: a write by one name is not told of the other. */
  readonly linked = new Set<bigint>()
  /** The last write of each file, by its inode number, in ms of Date.now(), taken before the write. */
  readonly wrote = new Map<bigint, number>()
  /**
   * The number of renames within the tree, by the old name and the new one: directories may have other names
   * by now.
   */
  readonly renamed = new Map<string, number>()
  readonly #writers: Writer[]

  readonly #names: 'utf8' | 'latin1'

  /**
   * `outside`: a directory on the same filesystem that no watcher covers. `names`: the bytes of names; with
   * 'latin1' some are not UTF-8. `last`: the directory in which the last writer works, open in this process.
   */
  constructor(
    count: number,
    tree: string,
    outside: string,
    names: 'utf8' | 'latin1' = 'utf8',
    last?: number,
  ) {
    this.#names = names
    const program = compile('tree_writer')
    this.#writers = Array.from({ length: count }, (_, i) => {
      const top = last !== undefined && i === count - 1 ? `/proc/${process.pid}/fd/${last}` : tree
      const child = spawn(program, [top, outside, String(i)], { stdio: ['pipe', 'pipe', 'inherit'] })
      return { process: child, lines: createInterface(child.stdout.setEncoding(names)) }
    })
  }

  /** Does the scripts, one for each writer, at the same time. Resolves to the number of operations that were possible. */
  async run(scripts: readonly Script[], marked: () => void = () => {}): Promise<number> {
    const counts = await Promise.all(
      scripts.map((script, i) => {
        const writer = this.#writers[i]
        if (writer === undefined) throw new Error('more scripts than writers')
        return this.#run(writer, script, marked)
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#writers.map(async ({ process: child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const ended = once(child, 'exit')
        // The writer may be in the midst of a script.
        child.kill('SIGKILL')
        await ended
      }),
    )
  }

  #run({ process: child, lines }: Writer, script: Script, marked: () => void): Promise<number> {
    const done = new Promise<number>((resolve, reject) => {
      const failed = () => reject(new Error('a writer ended; it has said why'))
      const hear = (line: string) => {
        const [word, value, ms] = line.split(' ')
        if (line.startsWith('renamed\t')) count(this.renamed, line.slice('renamed\t'.length))
        else if (word === 'mark') marked()
        else if (word === 'linked') this.linked.add(BigInt(value as string))
        else if (word === 'wrote') this.#write(BigInt(value as string), Number(ms))
        else if (word === 'done') {
          lines.off('line', hear)
          child.off('exit', failed)
          resolve(Number(value))
        }
      }
      lines.on('line', hear)
      child.once('exit', failed)
    })
    child.stdin?.write(`${[...script.map((fields) => fields.join('\t')), 'run'].join('\n')}\n`, this.#names)
    return done
  }

  /** The lines of several writers come in any order. */
  #write(ino: bigint, ms: number): void {
    this.wrote.set(ino, Math.max(ms, this.wrote.get(ino) ?? 0))
  }
}

export function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}
