#pragma once

// Returns 0 unless this process is refused all of inotify: by a seccomp filter, or because a sandbox or an
// emulator has none. Then -errno of inotify_init1(2), or errno of inotify_add_watch(2). No instance is made
// for it, since to close one takes the kernel milliseconds.
int Refusal();
