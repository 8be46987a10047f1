// The opening of requests alone, without node: by no other way than theirs, and from directories on the way
// of the last one. Runs in an empty directory, its argument; with a second argument as on a kernel without
// openat2(2). Ends with exit code 0, or prints the fault.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "old_kernel.h"
#include "scan/opener.h"

// The type of the file system that each directory pretends to lie on, and the names that were looked up anew
// (statx.cc).
static std::vector<std::string> asked_anew;
static uint32_t file_system = TMPFS_MAGIC;

extern "C" {
int __wrap_fstatfs(int, struct statfs* found) {
  *found = {};
  found->f_type = file_system;
  return 0;
}
int __wrap_linkat(int, const char*, int, const char* name, int) {
  asked_anew.push_back(name);
  errno = EXDEV;
  return -1;
}
}

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

// A walk of requests.
class Asking {
 public:
  explicit Asking(const std::vector<Asked>& asked) {
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
  }

  // Returns 0 or -errno, and the inode number of the opened directory.
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
  Opener& opener() { return opener_; }

 private:
  Requests requests_;
  WalkQueue walk_queue_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Opener opener_{&requests_, &lock_, &walk_queue_};
};

// A request for a sibling of the last one goes on from the same parent, wherever that parent is by now.
void CheckGoingOn(const std::string& scratch) {
  long before = OpenDescriptors();
  std::string root = MakeChain(scratch + "/chain", 100), aside = scratch + "/aside";
  {
    Asking asking({{root, Levels(99)}, {root, Levels(98) + "/d"}, {root, Levels(100)}});
    Check(asking.Open(0) == 0, "the first is opened", 0);
    Check(OpenDescriptors() == before + 1, "its parent is kept", OpenDescriptors() - before);
    Check(rename((root + "/d").c_str(), aside.c_str()) == 0, "rename", errno);
    uint64_t ino;
    Check(asking.Open(1, &ino) == 0 && ino == InoOf(aside + "/" + Levels(98)), "what is in the same", 0);
    Check(asking.Open(2) == -ENOENT, "but not by a way that is gone", 0);
    asking.opener().ForgetParent();
    Check(OpenDescriptors() == before, "none is open any more", OpenDescriptors() - before);
    Check(asking.Open(1) == -ENOENT, "and the next one finds what is there by then", 0);
  }
}

// The opener follows no symlink on the way, and takes none for a directory.
void CheckSymlinks(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/symlinks", 5), third = root + "/" + Levels(3);
  Check(rename(third.c_str(), (root + "/aside").c_str()) == 0, "rename", errno);
  Check(symlink("../../aside", third.c_str()) == 0, "symlink", errno);
  Asking asking({{root, Levels(5)}, {root, Levels(4)}, {root, Levels(3)}, {root, Levels(2)}});
  for (size_t i = 0; i < 3; i++) Check(asking.Open(i) == -ENOTDIR, "a symlink", static_cast<long>(i));
  Check(asking.Open(3) == 0, "what it lies in", 0);
}

// A way that is longer than the longest path of the kernel.
void CheckLong(const std::string& scratch) {
  constexpr size_t kDepth = 30;
  const std::string name(200, 'n');
  std::string root = MakeChain(scratch + "/long", 0), way = name;
  std::vector<int> fds = {open(root.c_str(), O_PATH | O_CLOEXEC)};
  for (size_t i = 0; i < kDepth; i++) {
    Check(mkdirat(fds.back(), name.c_str(), 0777) == 0, "mkdir", errno);
    fds.push_back(OpenAt(fds.back(), name.c_str(), O_PATH));
    if (i > 0) way += "/" + name;
  }
  struct stat found;
  Check(fstat(fds.back(), &found) == 0, "fstat", errno);
  uint64_t ino;
  int error = Asking({{root, way}}).Open(0, &ino);
  Check(error == 0 && ino == Fold(found.st_ino), "it is opened", error);
  const std::string longer = std::string(PATH_MAX, 'n') + "/d/d";
  for (const std::string& each : {longer, name + "/" + longer})
    Check(Asking({{root, each}}).Open(0) == -ENAMETOOLONG, "a name that is too long", 0);
  // The names lie too deep for the clean-up of the scratch directory.
  for (; fds.size() > 1; fds.pop_back()) {
    close(fds.back());
    Check(unlinkat(fds[fds.size() - 2], name.c_str(), AT_REMOVEDIR) == 0, "rmdir", errno);
  }
  close(fds[0]);
}

// A request that fails leaves its parent to the next request all the same.
void CheckFailing(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/failing", 3);
  Asking asking({{root, "d/d/absent"}, {root, "d/d/d"}});
  Check(asking.Open(0) == -ENOENT, "what is absent", 0);
  Check(rename((root + "/d").c_str(), (root + "/aside").c_str()) == 0, "rename", errno);
  Check(asking.Open(1) == 0, "what is beside it", 0);
}

// On a server's mount each name of a way is looked up anew, once in a pass.
void CheckStale(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/stale", 5);
  for (const char* name : {"/d/d/d/e", "/d/d/e", "/d/d/e/f"})
    Check(mkdir((root + name).c_str(), 0777) == 0, "mkdir", errno);
  constexpr uint32_t kStat = Request::kStat;
  Asking asking({{root, "d/d/d/d", kStat}, {root, "d/d/d/e", kStat}, {root, "d/d/e/f", kStat}});
  auto check = [&](size_t request, std::vector<std::string> names) {
    asked_anew.clear();
    Check(asking.Open(request) == 0 && asked_anew == names, "the names that are looked up anew",
          static_cast<long>(request));
  };
  for (size_t request = 0; request < 3; request++) check(request, {});
  asking.opener().ForgetParent();
  file_system = FUSE_SUPER_MAGIC;
  check(0, {"d", "d", "d", "d"});
  check(1, {"e"});
  check(2, {"e", "f"});
  check(0, {"d", "d"});
  asking.opener().ForgetParent();
  check(2, {"d", "d", "e", "f"});
  file_system = TMPFS_MAGIC;
}

// Ways are compared by whole names: 'd' is no part of the way to 'dd', nor one root a part of another.
void CheckOthers(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/r", 4), other = MakeChain(scratch + "/rr", 4);
  Check(mkdir((root + "/dd").c_str(), 0777) == 0 && mkdir((root + "/dd/d").c_str(), 0777) == 0, "mkdir",
        errno);
  std::string link = scratch + "/link";
  Check(symlink("r", link.c_str()) == 0, "symlink", errno);
  constexpr uint32_t kNoFollow = Request::kNoFollowRoot;
  Asking asking({{root, "d/d"},
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

// The parent of the last name is checked each time.
void CheckParent(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/parent", 4);
  uint64_t right = InoOf(root + "/d/d");
  Asking asking({{root, "d/d/d", 0, right}, {root, "d/d/d", 0, right + 1}, {root, "d/d/d", 0, right}});
  Check(asking.Open(0) == 0, "the right parent", 0);
  Check(asking.Open(1) == -ENOENT, "another than was asked for", 0);
  Check(asking.Open(2) == 0, "the right one again", 0);
}

// Without free descriptors the opener gives its own back, and manages with very few.
void CheckExhausted(const std::string& scratch) {
  std::string root = MakeChain(scratch + "/exhausted", 60);
  std::vector<Asked> levels;
  for (size_t level = 1; level <= 60; level++) levels.push_back({root, Levels(level)});
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  Asking asking(levels);
  UniqueFd first(open("/", O_PATH | O_CLOEXEC)), second(open("/", O_PATH | O_CLOEXEC));
  rlimit tight = before;
  // Two descriptors are free: for a directory, and for the one that is looked for in it.
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

// The requests come in the order of events from below.
void CheckOrder() {
  Asking asking({{"/b", "a/c"}, {"/b", "a"}, {"/a", ""}, {"/b", "a/b"}, {"/b", ""}, {"/b", "a b"}});
  const size_t expected[] = {2, 4, 1, 3, 0, 5};
  for (size_t i = 0; i < 6; i++) {
    Check(asking.requests().ByPath(i) == expected[i], "those above come first", static_cast<long>(i));
  }
}

}  // namespace

int main(int argc, char** argv) {
  has_openat2 = argc == 2;
  CheckGoingOn(argv[1]);
  CheckSymlinks(argv[1]);
  CheckLong(argv[1]);
  CheckStale(argv[1]);
  CheckFailing(argv[1]);
  CheckOthers(argv[1]);
  CheckParent(argv[1]);
  CheckExhausted(argv[1]);
  CheckOrder();
  return 0;
}
