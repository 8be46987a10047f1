import { join } from 'node:path'

/** Not a literal: it is there only once it has been built. And not what is shipped: a scenario gets at modules of it. @type {typeof import('../../../src/index.ts')} */
export const library = await import(join(import.meta.dirname, '../../../out/index.js'))
