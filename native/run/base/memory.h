#pragma once

#include <stddef.h>

// Memory of a program without libc. There is always some: a supervisor that cannot go on ends.
void* Allocate(size_t bytes);
// `bytes`: as it was allocated.
void Free(void* memory, size_t bytes);
