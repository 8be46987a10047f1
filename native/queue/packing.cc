#include "queue/packing.h"

#include <endian.h>

#include <cstring>

namespace {

constexpr size_t kBlock = 2 * sizeof(uint64_t);
constexpr uint64_t kHighBits = 0x8080808080808080;

uint64_t Word(const char* bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

// How many bytes there are before the padding. A name has no NUL, so the last byte that is none ends it.
size_t BytesBeforePadding(uint64_t word) {
  uint64_t little = le64toh(word);
  return little == 0 ? 0 : sizeof word - static_cast<size_t>(__builtin_clzll(little)) / 8;
}

// Copies a padded name and returns its length. Copies its padding as well, which the next name then
// overwrites.
size_t CopyName(const char* from, size_t padded, char* to, bool* ascii) {
  uint64_t bits = 0, low = 0, high = 0;
  for (size_t at = 0; at < padded; at += kBlock) {
    low = Word(from + at);
    high = Word(from + at + sizeof low);
    memcpy(to + at, &low, sizeof low);
    memcpy(to + at + sizeof low, &high, sizeof high);
    bits |= low | high;
  }
  *ascii = (bits & kHighBits) == 0;
  // The kernel pads to a multiple of 16 that has room for one NUL: the name ends in the last block.
  size_t before = padded - kBlock;
  return before + (high != 0 ? sizeof low + BytesBeforePadding(high) : BytesBeforePadding(low));
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
  for (size_t i = 0; i < length; i++)
    is_ascii = is_ascii && static_cast<unsigned char>(event->name[i]) < 0x80;
  return true;
}

void Pack(const char* records, size_t bytes, PackedBatch* batch) {
  size_t count = 0;
  int32_t* row = batch->rows;
  char* names = batch->names;
  const char* group = names;
  const inotify_event* before = nullptr;
  int32_t ascii_before = 0;
  for (size_t at = 0; at + sizeof(inotify_event) <= bytes;) {
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
  batch->count = count;
}

void PackMark(int32_t mark, PackedBatch* batch) {
  int32_t* row = batch->rows + batch->count * kColumns;
  row[0] = mark;
  row[1] = IN_IGNORED;
  row[2] = 0;
  row[3] = batch->count % kGroup == 0 ? 0 : row[3 - static_cast<int>(kColumns)] & kNameEnd;
  batch->count++;
}
