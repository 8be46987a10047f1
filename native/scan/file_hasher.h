#pragma once

#include <atomic>
#include <cstdint>

#include "base/statx.h"
#include "record/digest.h"
#include "scan/opener.h"

// Reads regular files through, for what they hold. Each thread of a walk has one.
class FileHasher {
 public:
  FileHasher(Opener* opener, const std::atomic<bool>* cancelled) : opener_(opener), cancelled_(cancelled) {}
  ~FileHasher();
  FileHasher(const FileHasher&) = delete;
  FileHasher& operator=(const FileHasher&) = delete;

  // Of what has this name and is `facts`. 0; -ENOENT if it is something else by now; -errno where it cannot
  // be read.
  int Read(int directory, const char* name, const Statx& facts, bool may_be_stale, Digest* digest);

 private:
  int Open(int file);
  int ReadAll(int file, Digest* digest);

  Opener* opener_;
  const std::atomic<bool>* cancelled_;
  uint8_t* buffer_ = nullptr;
};
