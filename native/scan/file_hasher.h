#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "base/statx.h"
#include "record/digest.h"
#include "scan/opener.h"

// Reads regular files through, for what they hold. Each thread of a walk has one.
class FileHasher {
 public:
  FileHasher(Opener* opener, const std::atomic<bool>* cancelled) : opener_(opener), cancelled_(cancelled) {}

  // Digests the file that has this name and is `facts`. Returns 0; -ENOENT if the name is another file's by
  // now; -errno if the file cannot be read.
  int Read(int directory, const char* name, const Statx& facts, bool may_be_stale, Digest* digest);

 private:
  int Open(int file);
  int ReadAll(int file, Digest* digest);

  Opener* opener_;
  const std::atomic<bool>* cancelled_;
  Bytes buffer_;
};
