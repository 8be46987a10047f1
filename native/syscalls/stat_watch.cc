#include "syscalls/stat_watch.h"

#include <cstring>

bool StatWatch::Next(size_t* at, Entry* entry) const {
  if (bytes_ - *at < kHead) return false;
  const uint8_t* from = packed_ + *at;
  int32_t directory;
  uint32_t flags, name_bytes;
  memcpy(&directory, from, sizeof directory);
  memcpy(&flags, from + 4, sizeof flags);
  memcpy(&name_bytes, from + kHead - 4, sizeof name_bytes);
  size_t size = (kHead + static_cast<size_t>(name_bytes) + 7) / 8 * 8;
  if (name_bytes == 0 || bytes_ - *at < size || from[kHead + name_bytes - 1] != '\0') return false;
  *entry = {directory, (flags & kMayBeStale) != 0, from + 8, reinterpret_cast<const char*>(from + kHead)};
  *at += size;
  return true;
}

bool StatWatch::IsWellFormed() const {
  Entry entry;
  size_t at = 0;
  while (Next(&at, &entry)) continue;
  return bytes_ > 0 && at == bytes_;
}

int64_t StatWatch::Look() const {
  Entry entry;
  int64_t index = 0;
  for (size_t at = 0; Next(&at, &entry); index++)
    if (Differs(entry)) return index;
  return -1;
}

bool StatWatch::Differs(const Entry& entry) {
  if (entry.may_be_stale && *entry.name != '\0') LookUpAgain(entry.directory, entry.name);
  Statx now;
  if (StatAt(entry.directory, entry.name, &now, true) < 0) return true;
  const uint64_t fields[kFields] = {now.ino,  now.mode,  now.uid,   now.gid,
                                    now.size, now.mtime, now.ctime, now.nlink};
  return memcmp(fields, entry.key, sizeof fields) != 0;
}
