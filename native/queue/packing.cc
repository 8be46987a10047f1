#include "queue/packing.h"

#include <endian.h>

#include <cstring>

#include "base/ascii.h"

namespace {

// A vector: gcc copies its words at once with -O2 as well.
using Block = uint64_t __attribute__((vector_size(2 * sizeof(uint64_t))));

// Returns the number of bytes before the padding. A name has no NUL, so the last byte that is none ends it.
size_t BytesBeforePadding(uint64_t word) {
  uint64_t little = le64toh(word);
  return little == 0 ? 0 : sizeof word - static_cast<size_t>(__builtin_clzll(little)) / 8;
}

// Copies a padded name and returns its length. Copies its padding as well, which the next name then
// overwrites.
size_t CopyName(const char* from, size_t padded, char* to, bool* ascii) {
  Block bits = {}, block = {};
  for (size_t at = 0; at < padded; at += sizeof block) {
    memcpy(&block, from + at, sizeof block);
    memcpy(to + at, &block, sizeof block);
    bits |= block;
  }
  *ascii = ((bits[0] | bits[1]) & kHighBits) == 0;
  // The kernel pads to a multiple of 16 that has room for one NUL: the name ends in the last block.
  size_t before = padded - sizeof block;
  return before +
         (block[1] != 0 ? sizeof block[0] + BytesBeforePadding(block[1]) : BytesBeforePadding(block[0]));
}

// Padding included: it is of NULs.
bool HasNameOf(const inotify_event& event, const inotify_event& other) {
  return event.len == other.len && event.len > 0 && memcmp(event.name, other.name, event.len) == 0;
}

}  // namespace

bool LoneEvent::TakeOnly(const char* records, size_t bytes) {
  if (bytes < sizeof(inotify_event)) return false;
  const auto* event = reinterpret_cast<const inotify_event*>(records);
  if (bytes != sizeof(inotify_event) + event->len) return false;
  record = event;
  length = event->len == 0 ? 0 : strnlen(event->name, event->len);
  is_ascii = IsAscii(event->name, length);
  return true;
}

void Pack(const char* records, size_t bytes, const PlacedMark* marks, size_t mark_count, PackedBatch* batch) {
  // The event behind a mark brings its name: the mark has none.
  static constexpr inotify_event kNameless = {};
  size_t count = 0;
  int32_t* row = batch->rows;
  char* names = batch->names;
  const char* group = names;
  const inotify_event* before = nullptr;
  int32_t ascii_before = 0;
  size_t at = 0;
  for (size_t mark = 0; mark <= mark_count; mark++) {
    size_t end = mark < mark_count ? marks[mark].at : bytes;
    while (at + sizeof(inotify_event) <= end) {
      // A multiple of the record's alignment (inotify(7): len counts the NULs that pad the name to the next
      // boundary).
      const auto* event = reinterpret_cast<const inotify_event*>(records + at);
      at += sizeof(inotify_event) + event->len;
      // The first of a group brings its name, whatever was before.
      int32_t flags = kSameName | ascii_before;
      if (count % kGroup == 0 || !HasNameOf(*event, *before)) {
        if (count % kGroup == 0) group = names;
        bool ascii = true;
        if (event->len > 0) names += CopyName(event->name, event->len, names, &ascii);
        flags = ascii_before = ascii ? 0 : kNotAscii;
      }
      before = event;
      row[0] = event->wd;
      row[1] = static_cast<int32_t>(event->mask);
      row[2] = static_cast<int32_t>(event->cookie);
      row[3] = static_cast<int32_t>(names - group) | flags;
      row += kColumns;
      count++;
    }
    if (mark == mark_count) break;
    if (count % kGroup == 0) group = names;
    row[0] = marks[mark].number;
    row[1] = IN_IGNORED;
    row[2] = 0;
    row[3] = static_cast<int32_t>(names - group);
    row += kColumns;
    count++;
    before = &kNameless;
  }
  batch->count = count;
}
