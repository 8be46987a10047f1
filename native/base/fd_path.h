#pragma once

#include <stdio.h>

// By which a descriptor can be given where a path is asked for.
class FdPath {
 public:
  explicit FdPath(int fd) { snprintf(path_, sizeof path_, "/proc/self/fd/%d", fd); }
  const char* c_str() const { return path_; }

 private:
  char path_[32];
};
