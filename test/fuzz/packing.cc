// Any events that the kernel can give come out of a packed batch as they were.
#include "queue/packing.h"

#include <memory>
#include <vector>

#include "input.h"

namespace {

struct Event {
  int32_t wd;
  uint32_t mask;
  uint32_t cookie;
  std::string name;
};

Event TakeEvent(Input* input, const std::vector<Event>& before) {
  Event event = {};
  auto shape = input->Take<uint8_t>();
  event.wd = input->Take<int32_t>();
  event.mask = input->Take<uint32_t>();
  event.cookie = input->Take<uint32_t>();
  // Often that of the one before, as the kernel's are.
  if (shape < 64 && !before.empty()) {
    event.name = before.back().name;
  } else if (shape >= 96) {
    event.name = input->TakeName(input->Take<uint8_t>());
  }
  return event;
}

// Packs an event as the kernel does: the name is padded with NULs to a multiple of 16, with one NUL at least.
void Append(std::vector<char>* records, const Event& event) {
  inotify_event head = {};
  head.wd = event.wd;
  head.mask = event.mask;
  head.cookie = event.cookie;
  head.len = event.name.empty() ? 0 : static_cast<uint32_t>((event.name.size() + 16) / 16 * 16);
  const char* bytes = reinterpret_cast<const char*>(&head);
  records->insert(records->end(), bytes, bytes + sizeof head);
  records->insert(records->end(), event.name.begin(), event.name.end());
  records->resize(records->size() + head.len - event.name.size());
}

bool IsAscii(const std::string& name) {
  for (char byte : name)
    if (static_cast<unsigned char>(byte) >= 0x80) return false;
  return true;
}

void CheckRows(const PackedBatch& batch, const std::vector<Event>& events) {
  const char* group = batch.names;
  std::string last;
  for (size_t i = 0; i < events.size(); i++) {
    const int32_t* row = batch.rows + i * kColumns;
    bool is_first = i % kGroup == 0;
    if (is_first && i > 0) group += batch.GroupBytes(i - kGroup);
    int32_t start = is_first ? 0 : row[3 - static_cast<int>(kColumns)] & kNameEnd;
    std::string name(group + start, static_cast<size_t>((row[3] & kNameEnd) - start));
    Check((row[3] & kSameName) == 0 || (!is_first && name.empty()), "the same name is there once");
    if ((row[3] & kSameName) != 0) name = last;
    last = name;
    Check(row[0] == events[i].wd && static_cast<uint32_t>(row[1]) == events[i].mask &&
              static_cast<uint32_t>(row[2]) == events[i].cookie,
          "wd, mask and cookie");
    Check(name == events[i].name, "the name");
    Check(((row[3] & kNotAscii) == 0) == IsAscii(name), "whether it is ASCII");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto batch = std::make_unique<PackedBatch>();
  Input input(data, size);
  std::vector<Event> events;
  std::vector<char> records;
  while (!input.is_used_up() && records.size() + kMaxRecordBytes <= kReadBytes) {
    events.push_back(TakeEvent(&input, events));
    Append(&records, events.back());
  }
  Exact exact(records.data(), records.size());
  Pack(exact.data(), records.size(), nullptr, 0, batch.get());
  Check(batch->count == events.size(), "how many there are");
  CheckRows(*batch, events);

  LoneEvent lone;
  Check(lone.TakeOnly(exact.data(), records.size()) == (events.size() == 1), "whether it is alone");
  if (events.size() == 1)
    Check(std::string(lone.record->name, lone.length) == events[0].name &&
              lone.is_ascii == IsAscii(events[0].name),
          "the name of one that is alone");
  return 0;
}
