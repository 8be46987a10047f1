// The process that examiner.ts asks. It may be left behind for as long as a mount does not answer.
import { beginProbe } from '../../mounts/diagnosis/probe.ts'
import { answer, type Question } from './examiner.ts'

let cleared: Promise<void> = Promise.resolve()

// Whoever has asked may be gone.
const tell = (found: object) => process.send?.(found, () => {})

process.on('message', async (question: Question) => {
  if ('path' in question) {
    tell(await answer(question.path))
    return
  }
  // What it was started in is not to be held.
  process.chdir('/')
  const probing = beginProbe(...question.probe)
  cleared = probing.over
  tell(await probing.answer)
})
process.on('disconnect', async () => {
  await cleared
  process.exit()
})
// Whoever asks says when it is over; once that one is gone, whoever wants the mount free may.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    if (!process.connected) process.exit()
  })
