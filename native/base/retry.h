#pragma once

#include <errno.h>

#include <cstdint>

// Repeats what a signal has interrupted, and gives -errno for -1. Signals are blocked on the thread, but a
// server of FUSE may say EINTR of its own accord.
template <typename Function>
int64_t Retry(Function function) {
  int64_t result;
  do {
    result = function();
  } while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : result;
}
