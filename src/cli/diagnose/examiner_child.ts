// The process that examiner.ts asks. It may be left behind for as long as a mount does not answer.
import { beginProbe } from '../../mounts/diagnosis/probe.ts'
import { answer, type Question } from './examiner.ts'

let cleared: Promise<void> = Promise.resolve()

// The parent may be gone.
const tell = (found: object) => process.send?.(found, () => {})

process.on('message', async (question: Question) => {
  if ('path' in question) {
    tell(await answer(question.path))
    return
  }
  // The probe must not hold the directory in which the process was started.
  process.chdir('/')
  const probing = beginProbe(...question.probe)
  cleared = probing.over
  tell(await probing.answer)
})
process.on('disconnect', async () => {
  await cleared
  process.exit()
})
// While connected, the parent decides when to end. Without a parent any signal may end this process, to free the mount.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    if (!process.connected) process.exit()
  })
