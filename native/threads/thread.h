#pragma once

#include <uv.h>

// Starts a thread that handles no signals. 0 or -errno.
int StartThread(uv_thread_t* thread, void (*main)(void*), void* argument);

// Likewise one that ends by itself, and is not joined.
int StartDetachedThread(void (*main)(void*), void* argument);
