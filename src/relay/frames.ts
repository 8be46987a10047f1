import { keysOf } from '../name_key.ts'

/**
 * The frames between a relay and those that listen to the relay: `u32 size` (of the rest, little-endian), `u8 type`, and a body.
 *
 * A client begins with HELLO, and may ask for a MARK by SYNC. A relay answers HELLO when all of its directory is watched, and tells no change that was made before.
 */
export const VERSION = 1

/** Both ways, first. u16 version; then the client's token, or the relay's directory. */
export const HELLO = 1
/** From the relay. Paths below the directory, as bytes, with a NUL between two: something has changed there. A hint says no more, so that the receiver has to look. Below a path that ends with a slash, all may have changed: the directory is new there, or has moved there. */
export const HINT = 2
/** From the relay. Hints have been dropped. */
export const GAP = 3
/** To the relay. u32 number. */
export const SYNC = 4
/** From the relay. The number of a SYNC: the hints of all changes that were made before that SYNC have been sent. */
export const MARK = 5
/** From the relay, when it has been silent for {@link ALIVE_MS}. */
export const ALIVE = 6
/** From the relay, last. The reason, as a text. */
export const REFUSED = 7

export const ALIVE_MS = 1000

/** Bytes of a body. A path has 16,384 at most, and one more name. */
const MOST = 64 * 1024

const HEAD = 5

export function frame(type: number, ...body: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(HEAD)
  head.writeUInt32LE(1 + body.reduce((sum, { length }) => sum + length, 0))
  head[4] = type
  return Buffer.concat([head, ...body])
}

export function numbered(type: number, number: number): Buffer {
  const body = Buffer.alloc(4)
  body.writeUInt32LE(number)
  return frame(type, body)
}

export function hello(rest: string): Buffer {
  const version = Buffer.alloc(2)
  version.writeUInt16LE(VERSION)
  return frame(HELLO, version, Buffer.from(rest))
}

/** Reads the body of a HELLO. */
export function readHello(body: Buffer): { version: number; rest: string } {
  return body.length < 2
    ? { version: 0, rest: '' }
    : { version: body.readUInt16LE(), rest: body.toString('utf8', 2) }
}

/** Returns HINT frames for paths with a character a byte. */
export function hintFrames(paths: Iterable<string>): Buffer[] {
  const bodies: string[] = []
  for (const path of paths) {
    const last = bodies.at(-1)
    if (last === undefined || last.length + 1 + path.length > MOST) bodies.push(path)
    else bodies[bodies.length - 1] = `${last}\0${path}`
  }
  return bodies.map((body) => frame(HINT, Buffer.from(body, 'latin1')))
}

/** Returns the paths of a HINT's body, as keys: see name_key.ts. */
export function hintedPaths(body: Buffer): string[] {
  const paths = body.toString('latin1').split('\0')
  return paths.map((path) => keysOf(Buffer.from(path, 'latin1')))
}

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Gives the frames that are whole by now. Throws at a size that no frame has: the other side is no relay. */
  *frames(chunk: Buffer): Generator<{ type: number; body: Buffer }> {
    let all = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (all.length >= HEAD) {
      const size = all.readUInt32LE()
      if (size < 1 || size > 1 + MOST) throw new Error(`a frame of ${size} bytes, which no relay sends`)
      if (all.length < 4 + size) break
      yield { type: all[4] as number, body: all.subarray(HEAD, 4 + size) }
      all = all.subarray(4 + size)
    }
    // A copy: the chunk may be large.
    this.#rest = Buffer.from(all)
  }
}
