#pragma once

// Whether this process is refused all of inotify: by a seccomp filter, or because a sandbox or an emulator
// has none. 0; -errno of inotify_init1(2); errno of inotify_add_watch(2). No instance is made for it, since
// to close one takes the kernel milliseconds.
int Refusal();
