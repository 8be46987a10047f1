// Bytes in place of getdents64(2)'s are read no further than their end, and each record has a name.
#include "base/listed_entries.h"

#include "input.h"
#include "record/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Record record;
  Exact exact(data, size);
  ListedEntries entries(exact.data(), size);
  record.Begin("directory");
  size_t count = 0;
  while (const ListedEntry* entry = entries.Next()) {
    const char* end = entry->name + strlen(entry->name);
    Check(entry->name >= exact.data() && end < exact.data() + size, "a name lies in what was read");
    Check(strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0, "neither '.' nor '..'");
    Check(++count <= size / sizeof(ListedEntry), "there is an end");
    record.Add(static_cast<Kind>(entry->type & 3), entry->ino, entry->name, nullptr);
  }
  Check(!entries.at_end() || size == 0 || size >= sizeof(ListedEntry), "half a record is no end");
  record.Finish();
  return 0;
}
