#include "run/base/directory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/retry.h"
#include "base/statx.h"

namespace {

// getdents64(2): glibc's headers name it dirent64.
struct Record {
  uint64_t ino;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[];
};

}  // namespace

DirectoryReader::DirectoryReader(int at, const char* path) {
  const int fd = OpenAt(at, path, O_RDONLY | O_DIRECTORY);
  if (fd < 0)
    error_ = fd;
  else
    fd_.reset(fd);
}

const char* DirectoryReader::Next() {
  while (error_ == 0) {
    if (at_ == filled_) {
      const int64_t bytes =
          Retry([&] { return syscall(SYS_getdents64, fd_.get(), buffer_, sizeof buffer_); });
      if (bytes <= 0) {
        error_ = static_cast<int>(bytes);
        return nullptr;
      }
      at_ = 0;
      filled_ = static_cast<size_t>(bytes);
    }
    const auto* record = reinterpret_cast<const Record*>(buffer_ + at_);
    at_ += record->length;
    if (strcmp(record->name, ".") != 0 && strcmp(record->name, "..") != 0) return record->name;
  }
  return nullptr;
}
