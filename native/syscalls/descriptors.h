#pragma once

#include <cstddef>

// Descriptors that are open, to be closed with this object at the latest: whoever asked for them may be gone
// by then, with its environment.
class Descriptors {
 public:
  Descriptors() = default;
  ~Descriptors();
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  // False where there is no memory to remember it: it is the caller's still.
  bool Add(int fd);
  // 0 or -errno; -EBADF for one that is not of these.
  int Close(int fd);

 private:
  int* fds_ = nullptr;
  size_t count_ = 0;
  size_t capacity_ = 0;
};
