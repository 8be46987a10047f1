import { describeErrno } from '../../errors.ts'

/** A system call that failed, in the shape of Node's own errors; without a path, since whoever asked for it knows that. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly code: string
  readonly errno: number
  readonly syscall: string

  /** @param errno as in errno(3) */
  constructor(errno: number, syscall: string) {
    const [code, meaning] = describeErrno(errno)
    super(`${code}: ${meaning}, ${syscall}`)
    this.code = code
    this.errno = -errno
    this.syscall = syscall
  }
}

/** Lets errors with one of these codes pass, in a `catch`: undefined stands for what was asked for. Throws any other. */
export function except(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!codes.includes(codeOf(error))) throw error
  }
}

/** Returns true when a call has succeeded, and false if it fails with one of these codes. Throws any other error. */
export async function succeeds(call: Promise<unknown>, ...refusals: readonly string[]): Promise<boolean> {
  return (await call.then(() => true, except(...refusals))) === true
}

/** The errno name of an error, '' if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
