// Packing and the arena alone, without node: every length of name, at the very end of memory of the exact
// size, so that AddressSanitizer reports a byte read or written too far. Ends with exit code 0, or prints the
// fault.
#include "queue/packing.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "queue/arena.h"

namespace {

void Check(bool holds, const char* what, size_t where) {
  if (holds) return;
  fprintf(stderr, "%s (%zu)\n", what, where);
  exit(1);
}

// Packs an event as the kernel does: the name is padded with NULs to a multiple of 16, with one NUL at least.
void Append(std::vector<char>* records, int wd, const std::string& name) {
  inotify_event event = {};
  event.wd = wd;
  event.mask = IN_CREATE;
  event.cookie = 7;
  event.len = name.empty() ? 0 : static_cast<uint32_t>((name.size() + 16) / 16 * 16);
  const char* bytes = reinterpret_cast<const char*>(&event);
  records->insert(records->end(), bytes, bytes + sizeof event);
  records->insert(records->end(), name.begin(), name.end());
  records->resize(records->size() + event.len - name.size());
}

void CheckPacked(const std::vector<std::string>& names) {
  std::vector<char> records;
  for (size_t i = 0; i < names.size(); i++) Append(&records, static_cast<int>(i), names[i]);
  Check(records.size() <= kReadBytes, "the test's records are too many", records.size());
  std::unique_ptr<char[]> exact(new char[records.size()]);
  std::copy(records.begin(), records.end(), exact.get());
  auto batch = std::make_unique<PackedBatch>();
  Pack(exact.get(), records.size(), nullptr, 0, batch.get());

  Check(batch->count == names.size(), "count", batch->count);
  const char* group = batch->names;
  std::string last;
  for (size_t i = 0; i < names.size(); i++) {
    if (i > 0 && i % kGroup == 0) group += batch->GroupBytes(i - kGroup);
    const int32_t* row = batch->rows + i * kColumns;
    bool same = i % kGroup > 0 && names[i] == names[i - 1] && !names[i].empty();
    Check(((row[3] & kSameName) != 0) == same, "same-name flag", i);
    int32_t start = i % kGroup == 0 ? 0 : row[3 - static_cast<int>(kColumns)] & kNameEnd;
    std::string name(group + start, static_cast<size_t>((row[3] & kNameEnd) - start));
    Check(!same || name.empty(), "the same name twice", i);
    if (same) name = last;
    last = name;
    bool ascii = true;
    for (unsigned char byte : names[i]) ascii = ascii && byte < 0x80;
    Check(row[0] == static_cast<int>(i) && row[1] == IN_CREATE && row[2] == 7, "wd, mask or cookie", i);
    Check(name == names[i], "name", i);
    Check(((row[3] & kNotAscii) == 0) == ascii, "not-ASCII flag", i);
  }
}

void TestPacking() {
  std::vector<std::string> lengths;
  for (size_t length = 0; length <= 255; length++) lengths.push_back(std::string(length, 'x'));
  CheckPacked(lengths);
  for (const std::string& name : lengths) CheckPacked({name});
  // A byte above 0x7f at each place, and none in the neighbours.
  for (size_t length : {1, 7, 8, 15, 16, 17, 255}) {
    for (size_t at = 0; at < length; at++) {
      std::string name(length, 'x');
      name[at] = static_cast<char>(0x80);
      CheckPacked({"before", name, "after"});
    }
  }
  CheckPacked(std::vector<std::string>(kMaxEvents, ""));
  // Runs of the same name, that begin and end everywhere in a group; of names that share all but their last
  // byte, or whose padding is as long.
  for (size_t run = 1; run <= 2 * kGroup + 1; run++) {
    std::vector<std::string> names;
    for (const char* name :
         {"a", "b", "", "b", "b\xc3\xa9", "b\xc3\xa8", "0123456789abcdef", "0123456789abcdeg"})
      names.insert(names.end(), run, name);
    CheckPacked(names);
  }
  CheckPacked({});
}

// Returns the wds of what is packed: those of the events are their numbers, from 1 on.
std::vector<int32_t> PackedWithMarks(const std::vector<PlacedMark>& marks, const std::vector<char>& records) {
  auto batch = std::make_unique<PackedBatch>();
  Pack(records.data(), records.size(), marks.data(), marks.size(), batch.get());
  std::vector<int32_t> wds;
  const char* group = batch->names;
  for (size_t i = 0; i < batch->count; i++) {
    const int32_t* row = batch->rows + i * kColumns;
    if (i > 0 && i % kGroup == 0) group += batch->GroupBytes(i - kGroup);
    int32_t start = i % kGroup == 0 ? 0 : row[3 - static_cast<int>(kColumns)] & kNameEnd;
    bool same = (row[3] & kSameName) != 0;
    std::string name =
        same ? "name" : std::string(group + start, static_cast<size_t>((row[3] & kNameEnd) - start));
    bool mark = row[0] < kNoMark;
    Check(name == (mark ? "" : "name"), "the name beside a mark", i);
    Check(!same || (i > 0 && i % kGroup > 0 && wds.back() > 0), "the name of a mark", i);
    Check((row[1] == IN_IGNORED) == mark, "the mask of a mark", i);
    wds.push_back(row[0]);
  }
  return wds;
}

void TestMarks() {
  constexpr int kEvents = 2 * kGroup + 2;
  std::vector<char> records;
  for (int wd = 1; wd <= kEvents; wd++) Append(&records, wd, "name");
  size_t record = records.size() / kEvents;
  // Two marks at one place, behind each number of records, and a third behind all.
  for (size_t behind = 0; behind <= kEvents; behind++) {
    std::vector<int32_t> expected;
    for (size_t i = 0; i <= kEvents; i++) {
      if (i == behind) expected.insert(expected.end(), {kNoMark - 1, kNoMark - 2});
      if (i < kEvents) expected.push_back(static_cast<int32_t>(i) + 1);
    }
    expected.push_back(kNoMark - 3);
    uint64_t at = behind * record;
    auto packed =
        PackedWithMarks({{at, kNoMark - 1}, {at, kNoMark - 2}, {records.size(), kNoMark - 3}}, records);
    Check(packed == expected, "marks where they were set", behind);
  }
  Check(PackedWithMarks({{0, kNoMark - 1}}, {}) == std::vector<int32_t>{kNoMark - 1}, "a mark alone", 0);
}

void TestArena() {
  Arena arena;
  arena.SetBound(3 * kReadBytes + 1);
  Check(arena.empty() && arena.Take() == nullptr, "empty at first", 0);
  for (char fill = 'a'; fill <= 'c'; fill++) {
    Chunk* chunk = arena.Writable();
    Check(chunk != nullptr && chunk->used == 0, "a new chunk", fill);
    Check(arena.Writable() == chunk, "the same chunk while it has room", fill);
    // One byte less than a record of the greatest length needs.
    chunk->used = Chunk::kCapacity - kMaxRecordBytes + 1;
    memset(chunk->data(), fill, Chunk::kCapacity);
  }
  Check(arena.Writable() == nullptr, "full at its bound", 3);
  for (char fill = 'a'; fill <= 'c'; fill++) {
    Chunk* chunk = arena.Take();
    Check(chunk != nullptr && chunk->data()[0] == fill, "the oldest first", fill);
    Chunk::Release(chunk);
    Check(arena.Writable() != nullptr, "room again", fill);
  }
}

}  // namespace

int main() {
  TestPacking();
  TestMarks();
  TestArena();
  return 0;
}
