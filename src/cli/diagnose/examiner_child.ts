// The process that examiner.ts asks. It may be left behind for as long as a mount does not answer.
import { beginProbe } from '../../mounts/diagnosis/probe.ts'
import { answer, type Question } from './examiner.ts'

let cleared: Promise<void> = Promise.resolve()

process.on('message', async (question: Question) => {
  if ('path' in question) {
    const found = await answer(question.path)
    process.send?.(found)
    return
  }
  const probing = beginProbe(...question.probe)
  cleared = probing.over
  const found = await probing.answer
  if (process.connected) process.send?.(found)
})
process.on('disconnect', async () => {
  await cleared
  process.exit()
})
// Whoever asks says when it is over.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
