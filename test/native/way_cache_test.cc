// The directories that requests have come by, by themselves, without node: what is open is gone on from, and
// is closed when it should be. Runs in an empty directory, its argument. Ends with exit code 0, or says what
// is wrong.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "scan/opener.h"

namespace {

void Check(bool holds, const char* what, long where) {
  if (holds) return;
  fprintf(stderr, "%s (%ld)\n", what, where);
  exit(1);
}

long OpenDescriptors() {
  long count = -1;  // its own
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

std::string Levels(size_t depth) {
  std::string way;
  for (size_t i = 0; i < depth; i++) way += i == 0 ? "d" : "/d";
  return way;
}

std::string MakeChain(const std::string& root, size_t depth) {
  Check(mkdir(root.c_str(), 0777) == 0, "mkdir", errno);
  std::string path = root;
  for (size_t i = 0; i < depth; i++) Check(mkdir((path += "/d").c_str(), 0777) == 0, "mkdir", errno);
  return root;
}

uint64_t InoOf(const std::string& path) {
  struct stat found;
  return lstat(path.c_str(), &found) == 0 ? Fold(found.st_ino) : 0;
}

struct Asked {
  std::string root;
  std::string way;
  uint32_t flags = 0;
  uint64_t parent_ino = 0;
};

// A walk of such requests, with the ways that it shares with others.
class Asking {
 public:
  Asking(WayCache* ways, const std::vector<Asked>& asked) : ways_(ways) {
    std::vector<uint8_t> packed;
    auto add = [&packed](const void* from, size_t bytes) {
      const auto* begin = static_cast<const uint8_t*>(from);
      packed.insert(packed.end(), begin, begin + bytes);
    };
    for (const Asked& each : asked) {
      uint32_t flags = each.flags | (each.parent_ino != 0 ? uint32_t{Request::kInParent} : 0);
      uint32_t head[] = {flags, static_cast<uint32_t>(each.root.size()),
                         static_cast<uint32_t>(each.way.size()), 0};
      add(head, sizeof head);
      if (each.parent_ino != 0) add(&each.parent_ino, sizeof each.parent_ino);
      add(each.root.data(), each.root.size());
      add(each.way.data(), each.way.size());
    }
    Check(requests_.Parse(packed.data(), packed.size()) == 0, "the requests are parsed", 0);
    walk_queue_.Begin(&requests_);
    ways_->BeginWalk(requests_.count());
  }
  ~Asking() { ways_->EndPass(); }

  // 0 or -errno; the inode number of what is opened.
  int Open(size_t request, uint64_t* ino = nullptr) {
    Job job;
    job.request = request;
    Origin origin;
    Statx facts;
    UniqueFd fd(opener_.OpenJob(job, &origin, &facts));
    if (ino != nullptr) *ino = fd.is_open() ? Fold(facts.ino) : 0;
    return fd.is_open() ? 0 : fd.get();
  }

  const Requests& requests() const { return requests_; }

 private:
  WayCache* ways_;
  Requests requests_;
  WalkQueue walk_queue_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Opener opener_{&requests_, ways_, &lock_, &walk_queue_};
};

struct Ways {
  WayCache* cache = new WayCache();
  ~Ways() { cache->Drop(); }
};

// Of a chain's levels each goes on from the one before: the way from the root could not even be gone.
void CheckGoingOn(const std::string& scratch) {
  constexpr size_t kDepth = 100;
  long before = OpenDescriptors();
  std::string root = MakeChain(scratch + "/chain", kDepth);
  std::vector<Asked> levels;
  for (size_t level = 2; level <= kDepth; level++) levels.push_back({root, Levels(level)});
  Ways ways;
  {
    Asking asking(ways.cache, levels);
    Check(asking.Open(0) == 0, "the first is opened", 0);
    std::string aside = scratch + "/aside";
    Check(rename((root + "/d").c_str(), aside.c_str()) == 0, "rename", errno);
    for (size_t i = 1; i < levels.size(); i++) {
      uint64_t ino;
      int error = asking.Open(i, &ino);
      Check(error == 0, "the next level is opened from where the last one was", error);
      Check(ino == InoOf(aside + "/" + Levels(i + 1)), "and is what lies there", static_cast<long>(i));
    }
    Check(OpenDescriptors() <= before + 64, "few are kept", OpenDescriptors() - before);
    // Upwards there is as many as are kept of one way.
    for (size_t i = levels.size(); i-- > levels.size() - 31;)
      Check(asking.Open(i) == 0, "the one above likewise", static_cast<long>(i));
  }
  Check(OpenDescriptors() == before, "when the pass is over none is open", OpenDescriptors() - before);
  Asking asking(ways.cache, levels);
  Check(asking.Open(1) == -ENOENT, "and the next one finds what is there by then", 0);
}

// What fails to be opened has been come to all the same.
void CheckFailing(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/failing", 3);
  Ways ways;
  Asking asking(ways.cache, {{root, "d/d/absent"}, {root, "d/d/d"}});
  Check(asking.Open(0) == -ENOENT, "what is absent", 0);
  Check(rename((root + "/d").c_str(), (root + "/aside").c_str()) == 0, "rename", errno);
  Check(asking.Open(1) == 0, "what is beside it", 0);
}

// By names alone: 'd' is no part of the way to 'dd', nor one root of another's.
void CheckOthers(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/r", 4), other = MakeChain(scratch + "/rr", 4);
  Check(mkdir((root + "/dd").c_str(), 0777) == 0 && mkdir((root + "/dd/d").c_str(), 0777) == 0, "mkdir",
        errno);
  std::string link = scratch + "/link";
  Check(symlink("r", link.c_str()) == 0, "symlink", errno);
  constexpr uint32_t kNoFollow = Request::kNoFollowRoot;
  Ways ways;
  Asking asking(ways.cache, {{root, "d/d"},
                             {root, "dd/d"},
                             {other, "d/d"},
                             {link, "d/d"},
                             {link, "d/d", kNoFollow},
                             {root, "d/d", Request::kStat},
                             {root + "/d", "d/d"}});
  for (size_t i : {0, 1, 2, 3, 4, 5, 6, 0, 3, 4}) {
    const Request& request = asking.requests()[i];
    std::string path = request.root;
    const char* name = request.way;
    for (size_t n = 0; n < request.way_names; n++, name += strlen(name) + 1) path += std::string("/") + name;
    uint64_t ino;
    int error = asking.Open(i, &ino);
    bool refused = request.has(kNoFollow);
    Check(error == (refused ? -ENOTDIR : 0), path.c_str(), error);
    if (!refused) Check(ino == InoOf(path), path.c_str(), static_cast<long>(i));
  }
}

// Which directory the last name is looked up in is checked each time.
void CheckParent(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/parent", 4);
  uint64_t right = InoOf(root + "/d/d");
  Ways ways;
  Asking asking(ways.cache,
                {{root, "d/d/d", 0, right}, {root, "d/d/d", 0, right + 1}, {root, "d/d/d", 0, right}});
  Check(asking.Open(0) == 0, "the right parent", 0);
  Check(asking.Open(1) == -ENOENT, "another than was asked for", 0);
  Check(asking.Open(2) == 0, "the right one again", 0);
}

void CheckHolding(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/holding", 5);
  long before = OpenDescriptors();
  {
    Ways ways;
    {
      Asking alone(ways.cache, {{root, "d/d/d"}});
      Check(alone.Open(0) == 0 && OpenDescriptors() == before, "for one request nothing is kept", 0);
    }
    ways.cache->Hold();
    {
      Asking first(ways.cache, {{root, "d/d/d"}});
      Check(first.Open(0) == 0, "one of several walks", 0);
    }
    Check(OpenDescriptors() == before + 2, "what it has come by stays open", OpenDescriptors() - before);
    Check(rename((root + "/d").c_str(), (root + "/aside").c_str()) == 0, "rename", errno);
    {
      Asking next(ways.cache, {{root, "d/d/d/d"}});
      Check(next.Open(0) == 0, "and the next goes on from there", 0);
      ways.cache->Release();
      Check(OpenDescriptors() == before, "until it is released", OpenDescriptors() - before);
      Check(next.Open(0) == -ENOENT, "also in the middle of a walk", 0);
    }
    ways.cache->Hold();
    Asking last(ways.cache, {{root, "aside/d/d"}});
    Check(last.Open(0) == 0 && OpenDescriptors() > before, "held again", 0);
  }
  Check(OpenDescriptors() == before, "and never longer than there is who could", OpenDescriptors() - before);
}

// However many ways there are.
void CheckMany(const std::string& scratch) {
  constexpr size_t kMany = 200;
  std::string root = scratch + "/many";
  Check(mkdir(root.c_str(), 0777) == 0, "mkdir", errno);
  std::vector<Asked> asked;
  for (size_t i = 0; i < kMany; i++) {
    std::string name = std::to_string(i);
    MakeChain(root + "/" + name, 1);
    asked.push_back({root, name + "/d"});
  }
  long before = OpenDescriptors();
  Ways ways;
  Asking asking(ways.cache, asked);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < kMany; i++) {
      uint64_t ino;
      Check(asking.Open(i, &ino) == 0 && ino == InoOf(root + "/" + asked[i].way), "each is opened",
            static_cast<long>(i));
    }
  }
  Check(OpenDescriptors() == before + 64, "64 are kept", OpenDescriptors() - before);
}

// A process that has no more gets them back, however few there are.
void CheckExhausted(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/exhausted", 60);
  std::vector<Asked> levels;
  for (size_t level = 1; level <= 60; level++) levels.push_back({root, Levels(level)});
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  Ways ways;
  Asking asking(ways.cache, levels);
  UniqueFd first(open("/", O_PATH | O_CLOEXEC)), second(open("/", O_PATH | O_CLOEXEC));
  rlimit tight = before;
  // Two are to be had: for a directory, and for the one that is looked for in it.
  tight.rlim_cur = static_cast<rlim_t>(second.get()) + 1;
  setrlimit(RLIMIT_NOFILE, &tight);
  first.reset();
  second.reset();
  for (size_t i = 0; i < levels.size(); i++) {
    int error = asking.Open(i);
    Check(error == 0, "it is opened with two descriptors", error);
  }
  int error = asking.Open(3);
  Check(error == 0, "also one that is not the next", error);
  setrlimit(RLIMIT_NOFILE, &before);
}

// As they are asked for by events that come from below.
void CheckOrder() {
  Ways ways;
  Asking asking(ways.cache,
                {{"/b", "a/c"}, {"/b", "a"}, {"/a", ""}, {"/b", "a/b"}, {"/b", ""}, {"/b", "a b"}});
  const size_t expected[] = {2, 4, 1, 3, 0, 5};
  for (size_t i = 0; i < 6; i++) {
    Check(asking.requests().ByPath(i) == expected[i], "those above come first", static_cast<long>(i));
  }
}

}  // namespace

int main(int, char** argv) {
  CheckGoingOn(argv[1]);
  CheckFailing(argv[1]);
  CheckOthers(argv[1]);
  CheckParent(argv[1]);
  CheckHolding(argv[1]);
  CheckMany(argv[1]);
  CheckExhausted(argv[1]);
  CheckOrder();
  return 0;
}
