#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/unique_fd.h"

// The thread whose system call is to be answered.

// Reads a path from its memory. 0 or -errno.
int ReadPath(pid_t thread, uint64_t address, char* to, size_t room);

// The process that it is of.
uint64_t ProcessOf(pid_t thread);

// Opens what it calls by this path, by O_PATH; a symlink at the end is followed or not. A descriptor, or
// -errno.
int OpenFor(pid_t thread, const char* path, bool follow);

// The same in place of `found`, with no more rights than it has, and past what the kernel remembers of the
// names. 0 or -errno: EACCES also where it may not read what is there, as inotify_add_watch(2) has it.
int OpenAgainAs(pid_t thread, const char* path, bool follow, UniqueFd* found);

// Has each name of this path looked up anew, with no more rights than it has.
void LookUpWay(pid_t thread, const char* path);
