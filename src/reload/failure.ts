/** What went wrong in a reload, and what the program or the server said. */
export interface ReloadFailure {
  stage: 'validate' | 'action'
  /** One sentence, with what to do about it where that is known. */
  reason: string
  /** The end of what was written or answered, 64 KiB at most. */
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
