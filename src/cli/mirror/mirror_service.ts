import { Service } from '../service/service.ts'
import { metricsText } from './mirror_metrics.ts'
import type { MirrorArguments } from './mirror_options.ts'
import type { MirrorStatus } from './mirror_status.ts'

/** `--ready-file` and `--listen` of a mirror. */
export function startMirrorService(
  { readyFile, listen, sources, target }: MirrorArguments,
  status: MirrorStatus,
): Promise<Service> {
  const metrics = () => metricsText(status, sources, target)
  return Service.start({ command: 'mirror', readyFile, listen, status, metrics })
}
