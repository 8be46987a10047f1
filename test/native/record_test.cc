// The walker's records alone, without node: every length of name, and a record that memory is missing for.
// Ends with exit code 0, or prints the fault.
#include "record/record.h"

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "record/record_queue.h"

namespace {

bool no_memory = false;

void Check(bool holds, const char* what, size_t where) {
  if (holds) return;
  fprintf(stderr, "%s (%zu)\n", what, where);
  exit(1);
}

uint32_t Number(const std::vector<uint8_t>& record, size_t at) {
  uint32_t number;
  memcpy(&number, record.data() + at, sizeof number);
  return number;
}

// Returns a copy in memory of the exact size.
std::vector<uint8_t> Copied(const Record& record, uint32_t id) {
  std::vector<uint8_t> copy(record.bytes());
  record.CopyTo(copy.data(), id);
  Check(Number(copy, 0) == copy.size() && copy.size() % 8 == 0, "the size is told", copy.size());
  Check(Number(copy, 4) == id, "the id is told", id);
  return copy;
}

void CheckNames() {
  Record record;
  for (size_t length = 1; length <= kMaxNameBytes; length++) {
    std::string name(length, 'n'), other(length - 1, 'm');
    other += '\xff';
    record.Begin(name.c_str());
    record.parent = 7;
    Statx stat;
    stat.ino = length;
    record.Add(Kind::kDirectory, uint64_t{1} << (length % 64), name.c_str(), nullptr);
    record.Add(Kind::kDirectory, 0, other.c_str(), &stat);
    record.Add(Kind::kFile, UINT64_MAX, name.c_str(), &stat);
    record.Finish();
    std::vector<uint8_t> copy = Copied(record, static_cast<uint32_t>(length));
    Check(Number(copy, 8) == 7 && Number(copy, 20) == Record::kAscii, "the head is what it was", length);
    Check(Number(copy, 60) == length && memcmp(copy.data() + 80, name.data(), length) == 0, "its name",
          length);
    const uint8_t* at = record.subdirectories().data();
    PackedEntry first(at), second(first.next);
    Check(std::string(first.name, first.name_bytes) == name, "the first entry", length);
    Check(std::string(second.name, second.name_bytes) == other, "the second entry", length);
    Check(second.next == at + record.subdirectories().size(), "there is no third", length);
    Check((at[0] & 4) != 0 && (first.next[0] & 4) == 0, "ASCII or not", length);
  }
}

void CheckTooLong() {
  Record record;
  record.Begin("name");
  for (Kind kind : {Kind::kFile, Kind::kDirectory}) {
    record.Add(kind, 1, std::string(kMaxNameBytes + 1, 'n').c_str(), nullptr);
    record.Add(kind, 1, std::string(4095, 'n').c_str(), nullptr);
    record.Add(kind, 1, "short", nullptr);
  }
  record.Finish();
  std::vector<uint8_t> copy = Copied(record, 1);
  Check(record.error == -EOVERFLOW, "a name that is too long is an error",
        static_cast<size_t>(-record.error));
  Check(Number(copy, 64) == 1 && Number(copy, 72) == 1, "and is not cut", Number(copy, 64));
  record.Begin("name");
  Check(record.error == 0, "the next is whole", 0);
}

void CheckFold() {
  for (int bit = 0; bit < 64; bit++) {
    uint64_t folded = Fold(uint64_t{1} << bit);
    Check(folded == uint64_t{1} << bit % 53, "a bit of 64 is one of 53", static_cast<size_t>(bit));
  }
  Check(Fold(UINT64_MAX) == (UINT64_MAX >> 11) - 2047, "bits meet by exclusive or", 0);
}

void CheckNoMemory() {
  Record record;
  for (Kind kind : {Kind::kFile, Kind::kDirectory}) {
    record.Begin("name");
    record.wd = 3;
    for (int i = 0; i < 100000; i++) {
      no_memory = i > 50000;
      record.Add(kind, 1, "an entry", nullptr);
    }
    record.Finish();
    no_memory = false;
    std::vector<uint8_t> copy = Copied(record, 1);
    Check(record.error == -ENOMEM && copy.size() == 88, "the head and the name are left", copy.size());
    Check(Number(copy, 12) == 3, "and the watch", Number(copy, 12));
    Check(Number(copy, 64) + Number(copy, 68) + Number(copy, 72) + Number(copy, 76) == 0, "no entries", 0);
    record.Begin("name");
    record.Add(kind, 1, "an entry", nullptr);
    record.Finish();
    Check(record.error == 0 && record.bytes() > 88, "the next is whole", record.bytes());
  }
}

// Records keep their order at all sizes, and no block is larger than its records need.
void CheckOutput() {
  RecordQueue output;
  std::vector<size_t> sizes;
  for (size_t size = 8; size < 300000; size = size * 3 / 2 / 8 * 8 + 8) sizes.push_back(size);
  size_t next = 0;
  auto take = [&] {
    while (Block* block = output.Take()) {
      for (size_t at = 0; at < block->used; at += sizes[next++ % sizes.size()]) {
        Check(block->data()[at] == next % 251, "records come in order", next);
      }
      Check(block->used <= block->capacity, "a block is not overfull", block->used);
      output.GiveBack(block);
    }
  };
  for (size_t i = 0; i < 10 * sizes.size(); i++) {
    size_t size = sizes[i % sizes.size()];
    uint8_t* to = output.Append(size);
    memset(to, static_cast<int>(i % 251), size);
    if (i % 7 == 0) take();
  }
  output.Flush();
  take();
  Check(next == 10 * sizes.size() && output.empty(), "all have come", next);
  while (!output.full()) output.Append(100000);
  // The queue's destructor frees this record.
  output.Append(8);
}

}  // namespace

extern "C" void* __real_realloc(void* memory, size_t bytes);
extern "C" void* __wrap_realloc(void* memory, size_t bytes) {
  return no_memory ? nullptr : __real_realloc(memory, bytes);
}

int main() {
  CheckNames();
  CheckTooLong();
  CheckFold();
  CheckNoMemory();
  CheckOutput();
  return 0;
}
