// The parts of the addon that only compute, each on an input that is always the same: parts NAME. callgrind
// counts the instructions of measured() (--toggle-collect). The program prints the number of units.
#include <fcntl.h>
#include <sys/inotify.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "queue/packing.h"
#include "record/digest_cache.h"
#include "record/record.h"
#include "record/record_queue.h"
#include "scan/requests.h"
#include "scan/walk_queue.h"

namespace {

constexpr size_t kTimes = 20;
constexpr size_t kLoneTimes = 1000;

// Takes the results, so that no compiler leaves the work out.
volatile uint64_t sink;

struct Part {
  virtual ~Part() = default;
  // Returns the number of units.
  virtual size_t Run() = 0;
};

// Packs events as the kernel does: names are padded with NULs to a multiple of 16, with one NUL at least.
std::vector<char> EventsNamed(const std::vector<std::string>& names) {
  std::vector<char> records;
  for (const std::string& name : names) {
    inotify_event event = {};
    event.wd = static_cast<int>(records.size());
    event.mask = IN_CREATE;
    event.len = name.empty() ? 0 : static_cast<uint32_t>((name.size() + 16) / 16 * 16);
    if (records.size() + sizeof event + event.len > kReadBytes) break;
    const char* bytes = reinterpret_cast<const char*>(&event);
    records.insert(records.end(), bytes, bytes + sizeof event);
    records.insert(records.end(), name.begin(), name.end());
    records.resize(records.size() + event.len - name.size());
  }
  return records;
}

std::vector<std::string> Names(size_t count, size_t bytes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; i++) {
    std::string name = "name-" + std::to_string(100000 + i);
    name.resize(bytes, 'x');
    names.push_back(name);
  }
  return names;
}

// Repeats each name, as for a program that makes a file and writes the file.
std::vector<std::string> Repeated(const std::vector<std::string>& names, size_t times) {
  std::vector<std::string> repeated;
  for (const std::string& name : names) repeated.insert(repeated.end(), times, name);
  return repeated;
}

struct Packing : Part {
  explicit Packing(std::vector<std::string> names) : records(EventsNamed(names)) {}
  size_t Run() override {
    for (size_t i = 0; i < kTimes; i++) Pack(records.data(), records.size(), nullptr, 0, &batch);
    return batch.count * kTimes;
  }
  std::vector<char> records;
  PackedBatch batch;
};

struct TakingLone : Part {
  size_t Run() override {
    for (size_t i = 0; i < kLoneTimes; i++) {
      LoneEvent event;
      sink = event.TakeOnly(records.data(), records.size()) ? event.length : 0;
    }
    return kLoneTimes;
  }
  std::vector<char> records = EventsNamed(Names(1, 24));
};

Statx Facts(size_t number) {
  Statx facts;
  facts.mode = 0100644;
  facts.ino = 1000 + number;
  facts.size = number;
  facts.mtime = facts.ctime = facts.btime = 1700000000000000000 + number;
  return facts;
}

// Fills a record with a directory of files, and a subdirectory for each four of them.
void Fill(Record* record, const std::vector<std::string>& names, bool stat) {
  record->Begin("directory");
  record->parent = 1;
  for (size_t i = 0; i < names.size(); i++) {
    Statx facts = Facts(i);
    Kind kind = i % 5 == 0 ? Kind::kDirectory : Kind::kFile;
    record->Add(kind, facts.ino, names[i].c_str(), stat ? &facts : nullptr);
  }
  record->Finish();
}

struct Listing : Part {
  explicit Listing(bool stat) : stat_(stat) {}
  size_t Run() override {
    for (size_t i = 0; i < kTimes; i++) {
      Fill(&record, names, stat_);
      record.CopyTo(queue.Append(record.bytes()), static_cast<uint32_t>(i));
    }
    queue.Flush();
    while (Block* block = queue.Take()) queue.GiveBack(block);
    return kTimes * names.size();
  }
  bool stat_;
  std::vector<std::string> names = Names(200, 16);
  Record record;
  RecordQueue queue;
};

struct Summing : Part {
  Summing() { Fill(&record, names, true); }
  size_t Run() override {
    for (size_t i = 0; i < kTimes; i++) record.Sum(Digest{i, i});
    sink = record.digest.low;
    return kTimes * names.size();
  }
  std::vector<std::string> names = Names(200, 16);
  Record record;
};

struct Remembering : Part {
  size_t Run() override {
    uint64_t known = 0;
    cache.Begin();
    for (const Digest& digest : digests) cache.Find(digest);
    cache.Commit();
    for (const Digest& digest : digests) known += cache.Knows(digest);
    sink = known;
    return digests.size();
  }
  Remembering() {
    uint64_t state = 88172645463325252;  // xorshift64
    for (int i = 0; i < 5000; i++) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      digests.push_back({state, ~state});
    }
  }
  std::vector<Digest> digests;
  DigestCache& cache = *new DigestCache();
};

std::vector<uint8_t> PackRequests(const std::vector<std::string>& ways) {
  const std::string root = "/the/root/of/all";
  std::vector<uint8_t> packed;
  for (const std::string& way : ways) {
    uint32_t head[] = {Request::kRecursive | Request::kWatch, static_cast<uint32_t>(root.size()),
                       static_cast<uint32_t>(way.size()), 0};
    const auto* bytes = reinterpret_cast<const uint8_t*>(head);
    packed.insert(packed.end(), bytes, bytes + sizeof head);
    packed.insert(packed.end(), root.begin(), root.end());
    packed.insert(packed.end(), way.begin(), way.end());
  }
  return packed;
}

struct Parsing : Part {
  size_t Run() override {
    Requests requests;
    requests.Parse(packed.data(), packed.size());
    return requests.count();
  }
  std::vector<uint8_t> packed = PackRequests(Names(1000, 24));
};

// A directory of many directories, each with one empty directory: measures the queue alone, without opening
// any.
struct Queueing : Part {
  Queueing() {
    requests.Parse(packed.data(), packed.size());
    queue.Begin(&requests);
    wide.Begin("wide");
    for (const std::string& name : Names(400, 16)) wide.Add(Kind::kDirectory, 1, name.c_str(), nullptr);
    wide.Finish();
    narrow.Begin("narrow");
    narrow.Add(Kind::kDirectory, 1, "only", nullptr);
    narrow.Finish();
  }
  size_t Run() override {
    size_t taken = 0;
    Job job;
    while (queue.Take(&job)) {
      bool is_root = taken++ == 0, is_wide = job.parent != nullptr && job.parent->parent == nullptr;
      if (is_root || is_wide) {
        Node* node = Node::Make(is_root ? wide : narrow, job.parent, open("/", O_PATH | O_CLOEXEC));
        node->request = job.request;
        queue.Push(node);
      }
      Node::Bury(queue.Done(&job));
    }
    return taken;
  }
  std::vector<uint8_t> packed = PackRequests({"way"});
  Requests requests;
  WalkQueue queue;
  Record wide, narrow;
};

Part* PartNamed(const std::string& name) {
  if (name == "pack") return new Packing(Names(kMaxEvents, 24));
  if (name == "pack-same-names") return new Packing(Repeated(Names(kMaxEvents / 3, 24), 3));
  if (name == "pack-long-name") return new Packing(Names(kMaxEvents, 255));
  if (name == "lone-event") return new TakingLone();
  if (name == "list") return new Listing(false);
  if (name == "list-with-stat") return new Listing(true);
  if (name == "sum") return new Summing();
  if (name == "remember") return new Remembering();
  if (name == "parse-requests") return new Parsing();
  if (name == "walk-queue") return new Queueing();
  return nullptr;
}

}  // namespace

// callgrind finds the function by this name.
extern "C" __attribute__((noinline)) size_t measured(void* part) {
  return static_cast<Part*>(part)->Run();
}

int main(int argc, char** argv) {
  Part* part = argc == 2 ? PartNamed(argv[1]) : nullptr;
  if (part == nullptr) {
    fputs("usage: parts NAME\n", stderr);
    return 2;
  }
  printf("%zu\n", measured(part));
  return 0;
}
