import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A shell that changes what this process cannot change of itself, or cannot change without descriptors. */
export class Shell {
  readonly #child: ChildProcess

  constructor() {
    this.#child = spawn('sh', { stdio: ['pipe', 'pipe', 'inherit'] })
  }

  /** Resolves to what the command has said. No name of a file is ever put into one. */
  async run(command: string): Promise<string> {
    const { stdin, stdout } = this.#child
    if (stdin === null || stdout === null) throw new Error('the shell has no pipes')
    let said = ''
    stdin.write(`${command}\necho end\n`)
    while (!said.endsWith('end\n')) said += String((await once(stdout, 'data'))[0])
    return said.slice(0, -'end\n'.length)
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.stdin?.end()
    await ended
  }
}
