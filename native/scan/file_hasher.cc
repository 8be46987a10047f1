#include "scan/file_hasher.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd_path.h"
#include "base/retry.h"

namespace {

constexpr size_t kBufferBytes = 128 * 1024;

}  // namespace

int FileHasher::Read(int directory, const char* name, const Statx& facts, bool may_be_stale, Digest* digest) {
  // Held before it is known to be a file, by a descriptor that reads nothing: the name may be a FIFO's by
  // now, for which an open would wait, or a device's, which it would set going.
  UniqueFd held(opener_->Open(directory, name, O_PATH | O_NOFOLLOW));
  if (!held.is_open()) return held.get();
  Statx found;
  int error = StatAt(held.get(), "", &found);
  if (error < 0) return error;
  if (found.ino != facts.ino || found.device != facts.device || !found.is_file()) return -ENOENT;
  UniqueFd file(Open(held.get()));
  if (!file.is_open()) return file.get();
  // virtiofs with cache=always keeps pages that the host has overwritten, even when their file is opened
  // anew. What it answers changes nothing.
  if (may_be_stale) posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  return ReadAll(file.get(), digest);
}

int FileHasher::Open(int file) {
  // O_NONBLOCK: a lease of another process's is not waited for. O_NOATIME: that it was read is nobody's news;
  // but it is the owner's alone to ask for that.
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  const PathOf path(file);
  int fd = opener_->Open(AT_FDCWD, path.c_str(), kFlags | O_NOATIME);
  return fd == -EPERM ? opener_->Open(AT_FDCWD, path.c_str(), kFlags) : fd;
}

int FileHasher::ReadAll(int file, Digest* digest) {
  uint8_t* buffer = buffer_.Room(kBufferBytes);
  if (buffer == nullptr) return -ENOMEM;
  Hasher hasher;
  for (;;) {
    if (cancelled_->load(std::memory_order_relaxed)) return -ECANCELED;
    int64_t bytes = Retry([&] { return read(file, buffer, kBufferBytes); });
    if (bytes < 0) return static_cast<int>(bytes);
    if (bytes == 0) break;
    hasher.Add(buffer, static_cast<size_t>(bytes));
  }
  *digest = hasher.Finish();
  return 0;
}
