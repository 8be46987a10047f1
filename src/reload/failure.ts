/** A failed validation or action, with the output of the program or the answer of the server. */
export interface ReloadFailure {
  /** The step that failed. */
  stage: 'validate' | 'action'
  /** One sentence, with the fix where it is known. */
  reason: string
  /** The end of the output, or the beginning of the answer: 64 KiB at most. */
  output: string
}

/** A validation or an action that failed: its message is the {@link ReloadFailure.reason}. */
export class ActionError extends Error {
  override readonly name = 'ActionError'
  readonly output: string

  constructor(reason: string, output = '') {
    super(reason)
    this.output = output
  }
}

/** Bytes that are kept of what a program writes or a server answers. */
export const OUTPUT_BYTES = 64 * 1024

/** The last {@link OUTPUT_BYTES} of what is added to it. */
export class Tail {
  #chunks: Buffer[] = []
  #bytes = 0

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > 2 * OUTPUT_BYTES) this.#cut()
  }

  toString(): string {
    this.#cut()
    return this.#chunks.map((chunk) => chunk.toString()).join('')
  }

  #cut(): void {
    const end = Buffer.concat(this.#chunks).subarray(-OUTPUT_BYTES)
    this.#chunks = [Buffer.from(end)]
    this.#bytes = end.length
  }
}
