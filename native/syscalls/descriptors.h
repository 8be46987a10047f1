#pragma once

#include <errno.h>
#include <unistd.h>

#include <vector>

// Descriptors that are open, to be closed with this object at the latest: whoever asked for them may be gone
// by then, with its environment.
class Descriptors {
 public:
  Descriptors() = default;
  ~Descriptors() {
    for (int fd : fds_) close(fd);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  void Add(int fd) { fds_.push_back(fd); }

  // 0 or -errno; -EBADF for one that is not of these.
  int Close(int fd) {
    // Backwards: the last opened is the first closed, most often.
    for (size_t i = fds_.size(); i-- > 0;) {
      if (fds_[i] != fd) continue;
      fds_[i] = fds_.back();
      fds_.pop_back();
      // close(2): never again on EINTR, the descriptor is free by then.
      return close(fd) < 0 && errno != EINTR ? -errno : 0;
    }
    return -EBADF;
  }

 private:
  std::vector<int> fds_;
};
