#include "run/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/retry.h"
#include "base/statx.h"
#include "base/unique_fd.h"

namespace {

constexpr size_t kPage = 4096;
constexpr int kMostGroups = 256;
// By a magic link (proc(5)) a way may lead through "self".
constexpr uint64_t kResolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;

// proc(5), status: the ids by which it opens files.
struct Rights {
  uint64_t user = 0, group = 0;
  gid_t groups[kMostGroups];
  int group_count = 0;
};

// Behind a line's name, which begins it; nullptr if there is none.
const char* LineOf(const char* text, const char* name) {
  for (;;) {
    if (BeginsWith(text, name)) return text + strlen(name);
    text += strcspn(text, "\n");
    if (*text++ == '\0') return nullptr;
  }
}

bool ReadStatus(pid_t thread, char (&text)[8192]) {
  UniqueFd file(openat(AT_FDCWD, PathOf(thread, "status").text(), O_RDONLY | O_CLOEXEC));
  return file.is_open() && read(file.get(), text, sizeof text - 1) > 0;
}

bool ParseRights(const char* text, Rights* rights) {
  const char* user = LineOf(text, "Uid:");
  const char* group = LineOf(text, "Gid:");
  const char* groups = LineOf(text, "Groups:");
  if (user == nullptr || group == nullptr || groups == nullptr) return false;
  // Real, effective, saved, of the file system.
  for (int i = 0; i < 4; i++) rights->user = NumberAt(&user), rights->group = NumberAt(&group);
  while (*(groups += strspn(groups, " \t")) >= '0' && *groups <= '9' && rights->group_count < kMostGroups)
    rights->groups[rights->group_count++] = static_cast<gid_t>(NumberAt(&groups));
  return true;
}

bool ReadRights(pid_t thread, Rights* rights) {
  char text[8192] = {};
  return ReadStatus(thread, text) && ParseRights(text, rights);
}

// Opens files with the rights of another, for as long as it lives: a supervisor that is root must not see for
// a program what that may not.
class Acting {
 public:
  explicit Acting(pid_t thread) {
    // A supervisor without root may act as nobody else, and with no_new_privs the program is nobody else.
    is_able_ = geteuid() != 0 || ReadRights(thread, &theirs_);
    is_other_ = geteuid() == 0 && is_able_ && (theirs_.user != 0 || theirs_.group != getegid());
    if (!is_other_) return;
    own_group_count_ = syscall(SYS_getgroups, kMostGroups, own_groups_);
    is_able_ = own_group_count_ >= 0 && syscall(SYS_setgroups, theirs_.group_count, theirs_.groups) == 0;
    syscall(SYS_setfsgid, theirs_.group);
    syscall(SYS_setfsuid, theirs_.user);
  }
  ~Acting() {
    if (!is_other_) return;
    syscall(SYS_setfsuid, geteuid());
    syscall(SYS_setfsgid, getegid());
    if (own_group_count_ >= 0) syscall(SYS_setgroups, own_group_count_, own_groups_);
  }
  Acting(const Acting&) = delete;
  Acting& operator=(const Acting&) = delete;

  bool is_able() const { return is_able_; }
  bool is_other() const { return is_other_; }

 private:
  Rights theirs_;
  gid_t own_groups_[kMostGroups];
  long own_group_count_ = 0;
  bool is_able_ = false, is_other_ = false;
};

// Each rename on this machine has the kernel give up a way through ".." that it confines (EAGAIN).
constexpr int kMostTrials = 10000;

int OpenBeneath(int directory, const char* path, uint64_t flags, uint64_t resolve) {
  open_how how = {};
  how.flags = flags | O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  int64_t fd = -EAGAIN;
  for (int trial = 0; fd == -EAGAIN && trial < kMostTrials; trial++)
    fd = Retry([&] { return syscall(SYS_openat2, directory, path, &how, sizeof how); });
  return static_cast<int>(fd);
}

// Reads what a link in /proc/THREAD says.
bool ReadLink(pid_t thread, const char* name, char (&to)[PATH_MAX]) {
  const long length = syscall(SYS_readlinkat, AT_FDCWD, PathOf(thread, name).text(), to, sizeof to - 1);
  if (length < 0) return false;
  to[length] = '\0';
  return true;
}

// An absolute path in the root of the thread.
bool Absolute(pid_t thread, const char* path, Text* to) {
  if (*path == '/') return !to->Add(path).is_cut();
  char root[PATH_MAX], working[PATH_MAX];
  if (!ReadLink(thread, "root", root) || !ReadLink(thread, "cwd", working)) return false;
  const bool is_chroot = strcmp(root, "/") != 0;
  const char* beneath = is_chroot ? working + strlen(root) : working;
  // Outside of its root, where chroot(2) may leave a process.
  if (is_chroot && (!BeginsWith(working, root) || (*beneath != '\0' && *beneath != '/'))) return false;
  return !to->Add(beneath).Add("/").Add(path).is_cut();
}

// Has each name of an absolute path looked up anew, and of where its links lead: what others have replaced
// the kernel may know by its old name for a second, or for ever.
void LookUpNames(int root, const char* path) {
  constexpr int kMostLinks = 40;
  Text way;
  way.Add(path);
  int links = 0;
  for (size_t end = 0; links <= kMostLinks && !way.is_cut();) {
    const char* text = way.text();
    const size_t begin = end + strspn(text + end, "/");
    end = begin + strcspn(text + begin, "/");
    if (end == begin || end + 2 > PATH_MAX) return;
    char name[PATH_MAX] = {'.'}, target[PATH_MAX];
    memcpy(name + 1, text, end);
    LookUpAgain(root, name);
    const long length = syscall(SYS_readlinkat, root, name, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    name[begin + 1] = '\0';
    Text next;
    if (*target != '/') next.Add(name + 1);
    next.Add(target).Add(text + end);
    way = next;
    end = *target == '/' ? 0 : begin;
    links++;
  }
}

int Open(pid_t thread, const char* path, bool follow, bool anew) {
  const uint64_t flags = follow ? 0 : O_NOFOLLOW;
  // "self" is whoever asks.
  constexpr char kSelf[][20] = {"/proc/self/", "/proc/thread-self/", "/dev/fd/"};
  for (const auto& self : kSelf) {
    if (!BeginsWith(path, self)) continue;
    Text theirs = PathOf(thread, self[1] == 'd' ? "fd/" : "");
    return OpenBeneath(AT_FDCWD, theirs.Add(path + strlen(self)).text(), flags, 0);
  }
  Text text;
  if (*path == '\0' || !Absolute(thread, path, &text)) return -ENOENT;
  const int root = OpenBeneath(AT_FDCWD, PathOf(thread, "root").text(), O_DIRECTORY, 0);
  if (root < 0) return root;
  UniqueFd held(root);
  if (anew) LookUpNames(root, text.text());
  return OpenBeneath(root, text.text(), flags, kResolve);
}

}  // namespace

Text PathOf(pid_t process, const char* name) {
  Text path;
  path.Add("/proc/").Add(process).Add("/").Add(name);
  return path;
}

int ReadPath(pid_t thread, uint64_t address, char* to, size_t room) {
  // Page by page: behind the end of the string there may be none.
  for (size_t got = 0; got < room;) {
    size_t step = kPage - (address + got) % kPage;
    if (step > room - got) step = room - got;
    iovec here = {to + got, step};
    iovec there = {reinterpret_cast<void*>(address + got), step};
    const long length = syscall(SYS_process_vm_readv, thread, &here, 1, &there, 1, 0);
    if (length <= 0) return -EFAULT;
    for (long i = 0; i < length; i++)
      if (to[got + static_cast<size_t>(i)] == '\0') return 0;
    got += static_cast<size_t>(length);
  }
  return -ENAMETOOLONG;
}

uint64_t ProcessOf(pid_t thread) {
  char text[8192] = {};
  const char* process = ReadStatus(thread, text) ? LineOf(text, "Tgid:") : nullptr;
  return process == nullptr ? static_cast<uint64_t>(thread) : NumberAt(&process);
}

int OpenFor(pid_t thread, const char* path, bool follow) {
  return Open(thread, path, follow, false);
}

int OpenAgainAs(pid_t thread, const char* path, bool follow, UniqueFd* found) {
  Acting acting(thread);
  if (!acting.is_able()) return -EPERM;
  const bool is_stale = CacheOf(found->get()) != Cache::kTrue;
  if (is_stale || acting.is_other()) {
    const int fd = Open(thread, path, follow, is_stale);
    if (fd < 0) return fd;
    found->reset(fd);
  }
  constexpr int kRead = 4;  // R_OK
  constexpr int kFlags = AT_EACCESS | AT_EMPTY_PATH;
  return static_cast<int>(Retry([&] { return syscall(SYS_faccessat2, found->get(), "", kRead, kFlags); }));
}

void LookUpWay(pid_t thread, const char* path) {
  Acting acting(thread);
  if (acting.is_able()) UniqueFd(Open(thread, path, true, true));
}
