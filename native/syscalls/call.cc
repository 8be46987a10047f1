#include "syscalls/call.h"

#include <cstdlib>

Call::~Call() {
  for (char* text : texts) free(text);
}

namespace {

bool IsReadable(int64_t bytes) {
  return bytes >= 0 && bytes <= Call::kLongestRead;
}

}  // namespace

bool Call::HasWhatItNeeds() const {
  switch (kind) {
    case Kind::kClose:
    case Kind::kFileSystem:
    case Kind::kNames:
    case Kind::kChangeMode:
    case Kind::kChangeOwner:
    case Kind::kSync:
    case Kind::kLock:
    case Kind::kCopyTimes:
      return true;
    case Kind::kRead:
      return IsReadable(numbers[1]);
    case Kind::kOpenRegular:
      return texts[0] != nullptr && IsReadable(numbers[1]);
    case Kind::kSymlink:
    case Kind::kLink:
    case Kind::kRename:
      return texts[0] != nullptr && texts[1] != nullptr;
    default:
      return texts[0] != nullptr;
  }
}
