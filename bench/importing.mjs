// importing.mjs SPECIFIER: what one import takes in a process that has done nothing else. Whatever this file imported would be had for nothing.
const [, , specifier = ''] = process.argv
const before = process.memoryUsage.rss()
const start = performance.now()
await import(specifier)
const ms = performance.now() - start
const MiB = (process.memoryUsage.rss() - before) / 1024 / 1024
process.stdout.write(`${JSON.stringify({ ms, MiB })}\n`)
