#pragma once

#include <uv.h>

// Starts a thread that handles no signals. 0 or -errno.
int StartThread(uv_thread_t* thread, void (*main)(void*), void* argument);

// Lets a thread of StartThread end by itself, unjoined. False where that is not to be had.
bool DetachThread(uv_thread_t thread);
