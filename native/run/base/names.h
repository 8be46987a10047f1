#pragma once

#include "base/listed_entries.h"
#include "base/statx.h"
#include "base/unique_fd.h"

// Calls `take` with a directory's descriptor and each name in it. 0, or the -errno that ended it.
template <typename Take>
int ForEachName(int at, const char* path, Take take) {
  UniqueFd directory(OpenAt(at, path, O_RDONLY | O_DIRECTORY));
  if (!directory.is_open()) return directory.get();
  alignas(ListedEntry) char room[32768];
  return static_cast<int>(ForEachEntry(directory.get(), room, sizeof room, [&](const ListedEntry& entry) {
    take(directory.get(), entry.name);
    return 0;
  }));
}
