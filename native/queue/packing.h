#pragma once

#include <sys/inotify.h>

#include <cstddef>
#include <cstdint>

// The sizes of one read(2) of an inotify fd, and its packed form for JavaScript.

// No gain was measured from larger reads; a buffer under 272 bytes (a name of 255) makes read fail with
// EINVAL.
constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kMaxEvents = kReadBytes / sizeof(inotify_event);
constexpr size_t kMaxRecordBytes = sizeof(inotify_event) + 256;

// A mark in the stream of events comes as a row of its own, with its number in place of the wd and
// IN_IGNORED: numbers are below this one, which leaves room for -errno. So many may be ahead at once.
constexpr int32_t kNoMark = -4096;
constexpr size_t kMostMarks = 64;

// A row of JavaScript's Int32Array: wd, mask, cookie, nameEnd.
constexpr size_t kColumns = 4;

// Names are handed over as one string for this many events, so that a name that is kept (as a slice of that
// string, in V8) keeps no more than its neighbours' alive.
constexpr size_t kGroup = 64;

// In the nameEnd column: the name has bytes above 0x7f, and has to be decoded as UTF-8.
constexpr int32_t kNotAscii = 1 << 30;

// Likewise: it is the name of the event before, and is not in the names once more. Whoever writes a file
// makes two events of it, or three.
constexpr int32_t kSameName = 1 << 29;

constexpr int32_t kNameEnd = kSameName - 1;

struct PackedBatch {
  size_t count = 0;
  // nameEnd counts from the start of the event's group.
  int32_t rows[(kMaxEvents + kMostMarks) * kColumns];
  // All names without padding or separator, in order, but for those that are the same as the one before.
  char names[kReadBytes];

  // The bytes of names that the group beginning at event `first` has.
  size_t GroupBytes(size_t first) const {
    size_t last = first + kGroup < count ? first + kGroup - 1 : count - 1;
    return static_cast<size_t>(rows[last * kColumns + 3] & kNameEnd);
  }
};

// A record that is alone, and so needs no packing.
struct LoneEvent {
  const inotify_event* record = nullptr;
  // The length of its name, without padding.
  size_t length = 0;
  bool is_ascii = true;

  // False, and nothing taken, if the records are none or several. The record stays where it is.
  bool TakeOnly(const char* records, size_t bytes);
};

// A mark behind so many bytes of some records.
struct PlacedMark {
  uint64_t at;
  int32_t number;
};

// Packs the records of a buffer filled by read(2), at most kReadBytes, and among them the marks, in order.
void Pack(const char* records, size_t bytes, const PlacedMark* marks, size_t mark_count, PackedBatch* batch);
