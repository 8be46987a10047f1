#pragma once

#include <stddef.h>

#include "base/unique_fd.h"

// The names in a directory, one after another.
class DirectoryReader {
 public:
  DirectoryReader(int at, const char* path);

  // 0, or the -errno that ended it.
  int error() const { return error_; }
  int fd() const { return fd_.get(); }
  // "." and ".." are left out. nullptr at the end; valid until the next call.
  const char* Next();

 private:
  UniqueFd fd_;
  int error_;
  size_t at_ = 0, filled_ = 0;
  alignas(8) char buffer_[32768];
};
