// An event loop that was blocked has its timers before it hears of answers: that the deadline is over says nothing of the server then.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openPathInspector } from '../../src/mounts/diagnosis/path_inspector.ts'
import { resolveWithDeadline } from '../../src/mounts/diagnosis/path_resolution.ts'
import { scratch } from '../support/scratch.ts'

// ms, for a busy machine too.
const PATIENCE = 600

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

// While the first question is under way, or any of the later ones.
test.for([0, 1, 2, 3, 5, 8])(
  'the way to a path is found by a loop that is blocked after %i answers',
  async (answers) => {
    const base = scratch()
    mkdirSync(join(base, 'a/b'), { recursive: true })
    writeFileSync(join(base, 'a/b/f'), '')
    const inspector = openPathInspector()
    onTestFinished(() => inspector.end())
    let asked = 0
    const sight = new Proxy(inspector, {
      get(target, name) {
        const member = Reflect.get(target, name, target) as unknown
        if (typeof member !== 'function') return member
        return (...values: unknown[]) => {
          const answer = member.apply(target, values)
          // The timer is set in this turn, behind the question.
          if (asked++ === answers) queueMicrotask(() => block(2 * PATIENCE))
          return answer
        }
      },
    })
    const finder = { sight, readMountinfo: () => '' }
    const { realPath } = await resolveWithDeadline(join(base, 'a/b/f'), finder, PATIENCE)
    expect(realPath).toBe(join(base, 'a/b/f'))
  },
)
