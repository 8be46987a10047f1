/** Returns the wds of an inotify instance by the text of its /proc/PID/fdinfo/FD (proc_pid_fdinfo(5)). */
export function watchesIn(fdinfo: string): number[] {
  return [...fdinfo.matchAll(/^inotify wd:([0-9a-f]+) /gm)].map(([, wd]) => Number.parseInt(wd ?? '', 16))
}
