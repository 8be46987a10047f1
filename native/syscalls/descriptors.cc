#include "syscalls/descriptors.h"

#include <errno.h>
#include <unistd.h>

#include <cstdlib>

Descriptors::~Descriptors() {
  for (size_t i = 0; i < count_; i++) close(fds_[i]);
  free(fds_);
}

bool Descriptors::Add(int fd) {
  if (count_ == capacity_) {
    size_t capacity = capacity_ == 0 ? 16 : 2 * capacity_;
    auto* larger = static_cast<int*>(realloc(fds_, capacity * sizeof *fds_));
    if (larger == nullptr) return false;
    fds_ = larger;
    capacity_ = capacity;
  }
  fds_[count_++] = fd;
  return true;
}

int Descriptors::Close(int fd) {
  // Backwards: the last opened is the first closed, most often.
  for (size_t i = count_; i-- > 0;) {
    if (fds_[i] != fd) continue;
    fds_[i] = fds_[--count_];
    // close(2): never again on EINTR, the descriptor is free by then.
    return close(fd) < 0 && errno != EINTR ? -errno : 0;
  }
  return -EBADF;
}
