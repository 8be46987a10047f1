// A directory's record gives back the entries that it was made of.
#include "record/record.h"

#include <errno.h>

#include <vector>

#include "input.h"

namespace {

struct Added {
  Kind kind;
  std::string name;
};

Statx TakeStat(Input* input) {
  Statx stat;
  stat.mode = input->Take<uint32_t>();
  stat.ino = input->Take<uint64_t>();
  stat.size = input->Take<uint64_t>();
  stat.mtime = input->Take<uint64_t>();
  stat.ctime = input->Take<uint64_t>();
  return stat;
}

void CheckEntries(const uint8_t* at, const uint8_t* end, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    Check(at < end, "there is another entry");
    PackedEntry entry(at);
    Check(std::string(entry.name, entry.name_bytes) == name, "its name");
    at = entry.next;
  }
  Check(at == end, "there are no more");
}

uint32_t Number(const std::vector<uint8_t>& record, size_t at) {
  uint32_t number;
  memcpy(&number, record.data() + at, sizeof number);
  return number;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Record record;
  Input input(data, size);
  std::string own = input.TakeName(input.Take<uint8_t>());
  record.Begin(own.c_str());
  record.facts = TakeStat(&input);
  std::vector<std::string> files, directories;
  bool is_too_long = false;
  while (!input.is_used_up()) {
    auto shape = input.Take<uint8_t>();
    auto kind = static_cast<Kind>(shape & 3);
    auto ino = input.Take<uint64_t>();
    Statx stat = (shape & 4) != 0 ? TakeStat(&input) : Statx();
    Digest content;
    if ((shape & 8) != 0) {
      Hasher hasher;
      hasher.Add(ino);
      content = hasher.Finish();
    }
    std::string name = input.TakeName(input.Take<uint16_t>() % 300);
    record.Add(kind, ino, name.c_str(), (shape & 4) != 0 ? &stat : nullptr,
               (shape & 12) == 12 ? &content : nullptr);
    if (name.size() > kMaxNameBytes) {
      is_too_long = true;
    } else {
      (kind == Kind::kDirectory ? directories : files).push_back(name);
    }
  }
  record.Finish();
  record.Sum(Digest());
  Check(record.error == (is_too_long ? -EOVERFLOW : 0), "a name that is too long is an error");

  std::vector<uint8_t> copy(record.bytes());
  record.CopyTo(copy.data(), 7);
  Check(Number(copy, 0) == copy.size() && copy.size() % 8 == 0, "the size");
  Check(Number(copy, 64) == files.size() && Number(copy, 72) == directories.size(), "how many there are");
  const uint8_t* name = copy.data() + 80;
  Check(Number(copy, 60) == own.size() && memcmp(name, own.data(), own.size()) == 0, "the directory's name");
  const uint8_t* between = name + own.size() + Number(copy, 68);
  CheckEntries(name + own.size(), between, files);
  CheckEntries(between, between + Number(copy, 76), directories);
  return 0;
}
