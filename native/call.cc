#include "call.h"

#include <cstdlib>

Call::~Call() {
  for (char* text : texts) free(text);
  free(data);
}

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
      return numbers[1] >= 0 && numbers[1] <= kLongestRead;
    case Kind::kSymlink:
    case Kind::kLink:
    case Kind::kRename:
      return texts[0] != nullptr && texts[1] != nullptr;
    default:
      return texts[0] != nullptr;
  }
}
