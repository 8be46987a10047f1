import { constants } from 'node:os'
import { InotifyError } from './errors.ts'

/**
 * A part of this package that few of those need who import it, and that is loaded when it is first called.
 *
 * Rejects with an {@link InotifyError} of syscall 'import': no descriptor is left for it (EMFILE), or the package has been replaced since this process began, and
 * its parts have other names (ENOENT).
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const errno =
      code !== undefined && code in constants.errno ? (code as keyof typeof constants.errno) : 'ENOENT'
    // Node 20 keeps an import that has failed, for ever.
    const hint = `a part of inotify-bridge could not be loaded: ${message}; restart this process`
    throw new InotifyError({ errno, syscall: 'import', hint })
  }
}
