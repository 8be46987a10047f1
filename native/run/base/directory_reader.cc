#include "run/base/directory_reader.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "base/listed_entries.h"
#include "base/retry.h"
#include "base/statx.h"

DirectoryReader::DirectoryReader(int at, const char* path)
    : fd_(OpenAt(at, path, O_RDONLY | O_DIRECTORY)), error_(fd_.is_open() ? 0 : fd_.get()) {}

const char* DirectoryReader::Next() {
  while (error_ == 0) {
    if (at_ == filled_) {
      const int64_t bytes =
          Retry([&] { return syscall(SYS_getdents64, fd_.get(), buffer_, sizeof buffer_); });
      if (bytes < 0) error_ = static_cast<int>(bytes);
      if (bytes <= 0) return nullptr;
      at_ = 0;
      filled_ = static_cast<size_t>(bytes);
    }
    const auto* entry = reinterpret_cast<const ListedEntry*>(buffer_ + at_);
    at_ += entry->bytes;
    if (!entry->is_self_or_parent()) return entry->name;
  }
  return nullptr;
}
