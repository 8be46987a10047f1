/** As many symlinks as the kernel follows on the way to one file: path_resolution(7). */
export const MAX_LINKS = 40
