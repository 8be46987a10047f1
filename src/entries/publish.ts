export { AddonLoadError, InotifyError } from '../errors.ts'
export { moveFile, publishDirectory, replaceFile } from '../publish/publish.ts'
