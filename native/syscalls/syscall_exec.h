#pragma once

#include "syscalls/call.h"

// Makes the system call and leaves in it what came of it. Not kAwaitChange, which is the thread's own
// (stat_watch.h).
void Perform(Call* call);
