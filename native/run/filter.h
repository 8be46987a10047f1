#pragma once

// Has the kernel ask the holder of a descriptor about each inotify_init(2), inotify_add_watch(2) and
// inotify_rm_watch(2) of this process and of all that it starts. Returns that descriptor, or -errno. It takes
// PR_SET_NO_NEW_PRIVS, which is set.
int InstallFilter();
