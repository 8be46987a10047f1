// The walker's descriptors alone, without node: a directory without a descriptor is opened again, from the
// nearest ancestor that has one. The result is the same directory, or ENOENT. Runs in an empty directory, its
// argument; with a second argument as on a kernel without openat2(2). Ends with exit code 0, or prints the
// fault.
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
#include <vector>

#include "old_kernel.h"
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

std::vector<uint8_t> PackRequest(const std::string& root) {
  uint32_t head[] = {Request::kRecursive, static_cast<uint32_t>(root.size()), 0, 0};
  const auto* bytes = reinterpret_cast<const uint8_t*>(head);
  std::vector<uint8_t> packed(bytes, bytes + sizeof head);
  packed.insert(packed.end(), root.begin(), root.end());
  return packed;
}

// A line of directories, root/d/d/d..., in the state of a walk that has come to the last: in each directory
// 'd' is taken, and 'other' still waits, if there is one.
class Line {
 public:
  Line(const std::string& root, size_t length, bool has_other = true) : root_(root), has_other_(has_other) {
    std::vector<uint8_t> packed = PackRequest(root);
    Check(requests_.Parse(packed.data(), packed.size()) == 0, "the request is parsed", 0);
    walk_queue_.Begin(&requests_);
    Job job;
    for (size_t depth = 0; depth < length; depth++) {
      Check(walk_queue_.Take(&job), "there is a directory to be taken", static_cast<long>(depth));
      nodes_.push_back(Visit(job, depth));
    }
  }

  // Returns the job for 'd' of the last directory.
  Job Last() {
    Job job;
    Check(walk_queue_.Take(&job) && strcmp(job.name, "d") == 0, "the last waits", 0);
    return job;
  }

  int Open(const Job& job, Statx* facts) {
    Origin origin;
    UniqueFd fd(opener_.OpenJob(job, &origin, facts));
    return fd.is_open() ? 0 : fd.get();
  }

  void Done(Job* job) { Node::Bury(walk_queue_.Done(job)); }

  long Held() const {
    long held = 0;
    for (const Node* node : nodes_) held += node->fd >= 0;
    return held;
  }

  void GiveAllBack() {
    Check(walk_queue_.GiveBack(), "some are given back", 0);
    Check(Held() == 0, "all are given back", Held());
  }

  Opener& opener() { return opener_; }
  WalkQueue& walk_queue() { return walk_queue_; }
  const std::vector<Node*>& nodes() const { return nodes_; }

 private:
  Node* Visit(Job job, size_t depth) {
    Record record;
    Origin origin;
    record.Begin(job.name);
    int fd = opener_.OpenJob(job, &origin, &record.facts);
    Check(fd >= 0, "a directory is opened", fd);
    Check(mkdirat(fd, "d", 0777) == 0 && mkdirat(fd, "other", 0777) == 0, "mkdir", errno);
    record.Add(Kind::kDirectory, 1, "d", nullptr);
    if (has_other_) record.Add(Kind::kDirectory, 2, "other", nullptr);
    record.Finish();
    Node* node = Node::Make(record, job.parent, fd);
    node->request = 0;
    node->id = static_cast<uint32_t>(depth);
    node->root_device = origin.root_device;
    node->cache = Cache::kTrue;
    walk_queue_.Push(node);
    Done(&job);
    return node;
  }

  std::string root_;
  bool has_other_;
  Requests requests_;
  WalkQueue walk_queue_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Opener opener_{&requests_, &lock_, &walk_queue_};
  std::vector<Node*> nodes_;
};

std::string MakeRoot(const std::string& scratch, const char* name) {
  std::string root = scratch + "/" + name;
  Check(mkdir(root.c_str(), 0777) == 0, "mkdir", errno);
  return root;
}

std::string Down(std::string root, size_t depth) {
  for (size_t i = 0; i < depth; i++) root += "/d";
  return root;
}

uint64_t InoOf(const std::string& path) {
  struct stat found;
  return lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

void CheckHeld(const std::string& scratch) {
  long before = OpenDescriptors();
  {
    Line line(MakeRoot(scratch, "held"), 300);
    Check(line.Held() == 128, "of 300 nodes 128 hold a descriptor", line.Held());
    Check(line.nodes()[127]->fd >= 0 && line.nodes()[128]->fd < 0, "it is the first that do", 0);
    Check(OpenDescriptors() == before + 128, "and no other descriptors are open", OpenDescriptors() - before);
    Check(line.walk_queue().size() == 301, "each has one that waits, and the last has two", 0);
  }
  Check(OpenDescriptors() == before, "none is left open", OpenDescriptors() - before);
}

// At any depth: only the last directory has entries that wait.
void CheckUsedUp(const std::string& scratch) {
  Line line(MakeRoot(scratch, "used-up"), 300, false);
  Check(line.Held() == 1, "what is used up holds none", line.Held());
}

// Checks the way up, with or without descriptors of the ancestors.
void CheckGoingUp(const std::string& root, size_t depth, bool given_back) {
  const long before = OpenDescriptors();
  Line line(root, depth);
  if (given_back) line.GiveAllBack();
  for (size_t above = depth; above-- > 0;) {
    for (const char* name : {"d", "other"}) {
      if (name[0] == 'd' && above + 1 < depth) continue;
      Job job;
      Statx facts;
      Check(line.walk_queue().Take(&job) && strcmp(job.name, name) == 0, "the next waits",
            static_cast<long>(above));
      int error = line.Open(job, &facts);
      Check(error == 0 && facts.ino == InoOf(Down(root, above) + "/" + name), "it is opened", error);
      line.Done(&job);
    }
    // The descriptors are the ancestors': a directory is closed once its last entry has been visited.
    const auto most = static_cast<long>(given_back ? 0 : above < 128 ? above : 128);
    Check(OpenDescriptors() == before + most, "so many are held", OpenDescriptors() - before);
  }
  Job job;
  Check(!line.walk_queue().Take(&job), "nothing is left", 0);
}

void CheckStale(const std::string& scratch) {
  std::string root = MakeRoot(scratch, "stale");
  std::string middle = Down(root, 10), aside = root + "/aside";
  Line line(root, 20);
  line.GiveAllBack();
  Job job = line.Last();
  Statx facts;
  rename(middle.c_str(), aside.c_str());
  Check(line.Open(job, &facts) == -ENOENT, "a way that is gone", 0);
  symlink("aside", middle.c_str());
  Check(line.Open(job, &facts) == -ENOTDIR, "a way that is now a symlink", 0);
  unlink(middle.c_str());
  std::string made = middle;
  for (int i = 0; i < 11; i++, made += "/d") mkdir(made.c_str(), 0777);
  Check(line.Open(job, &facts) == -ENOENT, "a way that leads to another directory", 0);
  std::string other = root + "/other-10";
  rename(middle.c_str(), other.c_str());
  rename(aside.c_str(), middle.c_str());
  Check(line.Open(job, &facts) == 0 && facts.ino == InoOf(Down(root, 20)), "the old way again", 0);
  line.Done(&job);
}

void CheckExhausted(const std::string& scratch) {
  Line line(MakeRoot(scratch, "exhausted"), 100);
  Job job = line.Last();
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit tight = before;
  UniqueFd last(open("/", O_PATH | O_CLOEXEC));
  // The limit is exactly the number of open descriptors.
  tight.rlim_cur = static_cast<rlim_t>(last.get()) + 1;
  setrlimit(RLIMIT_NOFILE, &tight);
  UniqueFd probe(open("/", O_PATH | O_CLOEXEC));
  Check(!probe.is_open() && errno == EMFILE, "no descriptor is left", 0);
  UniqueFd fd(line.opener().Open(AT_FDCWD, "/", O_PATH));
  Check(fd.is_open(), "what is held is given back for it", fd.get());
  Check(line.Held() == 1 && job.base == job.parent, "but what a job uses", line.Held());
  Check(fcntl(job.base->fd, F_GETFD) >= 0, "which is open", errno);
  std::vector<int> hoard;
  int got;
  while ((got = line.opener().Open(AT_FDCWD, "/", O_PATH)) >= 0) hoard.push_back(got);
  Check(got == -EMFILE, "then there is none", got);
  // An ancestor can still be opened again with three to spare: for a directory, the next one, and the one
  // that is looked for.
  for (int i = 0; i < 3; i++) {
    close(hoard.back());
    hoard.pop_back();
  }
  line.Done(&job);
  for (int i = 0; i < 50; i++) {
    Statx facts;
    Check(line.walk_queue().Take(&job), "the next waits", i);
    int error = line.Open(job, &facts);
    Check(error == 0, "is opened with few descriptors", error);
    line.Done(&job);
  }
  setrlimit(RLIMIT_NOFILE, &before);
  for (int each : hoard) close(each);
}

}  // namespace

int main(int argc, char** argv) {
  has_openat2 = argc == 2;
  CheckHeld(argv[1]);
  CheckUsedUp(argv[1]);
  CheckGoingUp(MakeRoot(argv[1], "up"), 200, false);
  CheckGoingUp(MakeRoot(argv[1], "given-back"), 100, true);
  CheckStale(argv[1]);
  CheckExhausted(argv[1]);
  return 0;
}
