#include "packing.h"

#include <cstring>

namespace {

bool IsAscii(const char* text, size_t length) {
  unsigned char high = 0;
  for (size_t i = 0; i < length; i++) high |= static_cast<unsigned char>(text[i]);
  return high < 0x80;
}

}  // namespace

void Pack(const char* records, size_t bytes, PackedBatch* batch) {
  size_t count = 0;
  int32_t* row = batch->rows;
  char* names = batch->names;
  const char* group = names;
  for (size_t at = 0; at + sizeof(inotify_event) <= bytes;) {
    // The kernel aligns every record (inotify(7): len counts the NULs that pad the name to the next
    // boundary).
    const auto* event = reinterpret_cast<const inotify_event*>(records + at);
    at += sizeof(inotify_event) + event->len;
    if (count % kGroup == 0) group = names;
    size_t length = strnlen(event->name, event->len);
    memcpy(names, event->name, length);
    bool ascii = IsAscii(names, length);
    names += length;
    row[0] = event->wd;
    row[1] = static_cast<int32_t>(event->mask);
    row[2] = static_cast<int32_t>(event->cookie);
    row[3] = static_cast<int32_t>(names - group) | (ascii ? 0 : kNotAscii);
    row += kColumns;
    count++;
  }
  batch->count = count;
}
