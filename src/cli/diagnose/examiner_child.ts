// The process that examiner.ts asks. It may be left behind for as long as a mount does not answer.
import { answer } from './examiner.ts'

process.on('message', async (path: string) => {
  const found = await answer(path)
  process.send?.(found)
})
process.on('disconnect', () => process.exit())
// Whoever asks says when it is over.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
