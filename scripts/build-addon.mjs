// Builds build/Release/inotify_bridge.node with node-gyp, incrementally.
import { join } from 'node:path'
import { build } from './node_gyp.mjs'

if (!build(join(import.meta.dirname, '..'))) process.exit(1)
