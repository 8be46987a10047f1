// What Vite keeps is not kept in the project, which may be read-only.
import { join } from 'node:path'

export default { cacheDir: join(process.env.OUT ?? 'node_modules', '.vite') }
