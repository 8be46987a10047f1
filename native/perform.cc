#include "perform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "bytes.h"
#include "facts.h"
#include "unique_fd.h"

namespace {

// Repeats what a signal has interrupted, and gives -errno for -1. Signals are blocked on the thread, but a
// server of FUSE may say EINTR of its own accord.
template <typename Function>
int64_t Retry(Function function) {
  int64_t result;
  do {
    result = function();
  } while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : result;
}

int Number(const Call& call, int index) {
  return static_cast<int>(call.numbers[index]);
}

// By which a descriptor can be given where a path is asked for.
class PathOf {
 public:
  explicit PathOf(int fd) { snprintf(path_, sizeof path_, "/proc/self/fd/%d", fd); }
  const char* c_str() const { return path_; }

 private:
  char path_[32];
};

// Every component of a path, from the first down.
void LookUpEach(int directory, char* path) {
  for (char* end = path; *end != '\0'; end++) {
    if (*end != '/' || end == path) continue;
    *end = '\0';
    LookUpAgain(directory, path);
    *end = '/';
  }
  LookUpAgain(directory, path);
}

// A name in a directory that is held: whatever takes its place meanwhile, no symlink is followed and nothing
// outside the directory reached. openat2(2) is of 5.6, and some seccomp filters do not know it: for a single
// name, and names come without '/' here, O_NOFOLLOW does nearly the same.
int64_t OpenBeneath(int directory, const char* name, int flags) {
  if (strchr(name, '/') != nullptr || strcmp(name, "..") == 0) return -EINVAL;
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int64_t fd = Retry([&] { return syscall(SYS_openat2, directory, name, &how, sizeof how); });
  if (fd != -ENOSYS && fd != -EPERM) return fd;
  return Retry([&] { return openat(directory, name, flags | O_CLOEXEC | O_NOFOLLOW); });
}

// The type is that of the inode held, not of whatever the name stands for by the time that it is opened for
// reading: no FIFO is ever waited for, and no device set off.
int64_t OpenRegular(int directory, const char* name, bool may_be_stale) {
  UniqueFd inode(static_cast<int>(OpenBeneath(directory, name, O_PATH)));
  if (!inode.is_open()) return inode.get();
  Facts facts;
  int error = StatAt(inode.get(), "", &facts);
  if (error < 0) return error;
  // Which open(2) itself never says.
  if ((facts.mode & S_IFMT) != S_IFREG) return -EPROTOTYPE;
  // O_NONBLOCK: a lease that somebody holds on it (fcntl(2)) is EAGAIN then, not a wait of up to 45 s.
  int64_t fd = Retry([&] { return open(PathOf(inode.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); });
  // virtiofs in cache=always shows what it has read before for ever, whatever has become of the file.
  if (fd >= 0 && may_be_stale) posix_fadvise(static_cast<int>(fd), 0, 0, POSIX_FADV_DONTNEED);
  return fd;
}

constexpr size_t kPackedStat = 11 * sizeof(uint64_t);

// As FileStat in src/mounts/file_stat.ts reads it.
void Pack(const Facts& facts, uint8_t* to) {
  const uint64_t fields[] = {
      facts.ino,   facts.mode,
      facts.uid,   facts.gid,
      facts.size,  facts.mtime,
      facts.ctime, facts.nlink,
      facts.mount, static_cast<uint64_t>(facts.device.major) << 32 | facts.device.minor,
      facts.btime};
  static_assert(sizeof fields == kPackedStat);
  memcpy(to, fields, sizeof fields);
}

// Into the call's data. 0 or -errno.
int64_t StatInto(Call* call, int directory, const char* name) {
  Facts facts;
  int error = StatAt(directory, name, &facts, true);
  if (error < 0) return error;
  call->data = static_cast<uint8_t*>(malloc(kPackedStat));
  if (call->data == nullptr) return -ENOMEM;
  Pack(facts, call->data);
  call->bytes = kPackedStat;
  return 0;
}

bool IsSymlink(const Call& call) {
  uint64_t mode;
  memcpy(&mode, call.data + sizeof mode, sizeof mode);
  return (mode & S_IFMT) == S_IFLNK;
}

// What has been opened is to be looked at next, most often: one turn to JavaScript and back for both.
int64_t WithStat(Call* call, int64_t fd) {
  if (fd < 0) return fd;
  int64_t error = StatInto(call, static_cast<int>(fd), "");
  if (error == 0) return fd;
  close(static_cast<int>(fd));
  return error;
}

// So is what has been opened to be read: its first bytes, and a stat from behind them, come behind the stat.
int64_t WithContent(Call* call, int64_t fd) {
  int64_t error = WithStat(call, fd);
  const auto most = static_cast<size_t>(call->numbers[1]);
  if (error < 0 || most == 0) return error;
  const size_t stat = call->bytes;
  auto* before = call->data;
  call->data = static_cast<uint8_t*>(malloc(2 * stat + most));
  int64_t bytes = -ENOMEM;
  if (call->data != nullptr) {
    memcpy(call->data, before, stat);
    bytes = Retry([&] { return read(static_cast<int>(fd), call->data + 2 * stat, most); });
  }
  free(before);
  Facts after;
  if (bytes >= 0) error = StatAt(static_cast<int>(fd), "", &after, true);
  if (bytes >= 0 && error >= 0) {
    Pack(after, call->data + stat);
    call->bytes = 2 * stat + static_cast<size_t>(bytes);
    return fd;
  }
  close(static_cast<int>(fd));
  return bytes < 0 ? bytes : error;
}

// What a symlink says comes behind its stat.
int64_t StatOrLinkInto(Call* call, int directory, const char* name) {
  int64_t error = StatInto(call, directory, name);
  if (error < 0 || !IsSymlink(*call)) return error;
  auto* larger = static_cast<uint8_t*>(realloc(call->data, call->bytes + PATH_MAX));
  if (larger == nullptr) return -ENOMEM;
  call->data = larger;
  auto* text = reinterpret_cast<char*>(call->data + call->bytes);
  int64_t bytes = Retry([&] { return readlinkat(directory, name, text, PATH_MAX); });
  // It is none any more, or it has gone.
  if (bytes < 0) return bytes;
  call->bytes += static_cast<size_t>(bytes);
  return 0;
}

int64_t ReadlinkInto(Call* call) {
  call->data = static_cast<uint8_t*>(malloc(PATH_MAX));
  if (call->data == nullptr) return -ENOMEM;
  auto* text = reinterpret_cast<char*>(call->data);
  int64_t bytes = Retry([&] { return readlinkat(Number(*call, 0), call->texts[0], text, PATH_MAX); });
  if (bytes == PATH_MAX) return -ENAMETOOLONG;
  if (bytes >= 0) call->bytes = static_cast<size_t>(bytes);
  return bytes;
}

struct ListedEntry {
  uint64_t ino;
  int64_t offset;
  uint16_t bytes;
  unsigned char type;
  char name[];
};

// The names, each with its zero, and how many there are: at most so many.
int64_t NamesInto(Call* call) {
  // Anew, for an offset of its own. To find '.' takes the permission to search, to list that of reading
  // alone.
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
  UniqueFd directory(OpenAt(Number(*call, 0), ".", kFlags));
  if (directory.get() == -EACCES) directory.reset(OpenAt(AT_FDCWD, PathOf(Number(*call, 0)).c_str(), kFlags));
  if (!directory.is_open()) return directory.get();
  // NFS goes on showing the listing that it has in its page cache until the directory's change attribute
  // differs, and a server without a counter gives a time for that: for ever, of two changes at one time.
  if (call->numbers[2] != 0) posix_fadvise(directory.get(), 0, 0, POSIX_FADV_DONTNEED);
  constexpr size_t kRoom = 32 * 1024;
  Bytes entries;
  uint8_t* room = entries.Room(kRoom);
  if (room == nullptr) return -ENOMEM;
  int64_t count = 0;
  for (size_t capacity = 0;;) {
    int64_t bytes = Retry([&] { return syscall(SYS_getdents64, directory.get(), room, kRoom); });
    if (bytes < 0) return bytes;
    if (bytes == 0) return count;
    // A name takes less room here than with what precedes it there.
    if (capacity - call->bytes < static_cast<size_t>(bytes)) {
      capacity = 2 * capacity + static_cast<size_t>(bytes);
      auto* larger = static_cast<uint8_t*>(realloc(call->data, capacity));
      if (larger == nullptr) return -ENOMEM;
      call->data = larger;
    }
    for (int64_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const ListedEntry*>(room + at);
      at += entry->bytes;
      if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0) continue;
      if (count == call->numbers[1]) return count;
      size_t length = strlen(entry->name) + 1;
      memcpy(call->data + call->bytes, entry->name, length);
      call->bytes += length;
      count++;
    }
  }
}

int64_t ReadInto(Call* call) {
  size_t most = static_cast<size_t>(call->numbers[1]);
  call->data = static_cast<uint8_t*>(malloc(most > 0 ? most : 1));
  if (call->data == nullptr) return -ENOMEM;
  int64_t bytes = Retry([&] { return read(Number(*call, 0), call->data, most); });
  if (bytes >= 0) call->bytes = static_cast<size_t>(bytes);
  return bytes;
}

int64_t WriteAll(const Call& call) {
  size_t done = 0;
  while (done < call.lengths[0]) {
    int64_t bytes =
        Retry([&] { return write(Number(call, 0), call.texts[0] + done, call.lengths[0] - done); });
    if (bytes < 0) return bytes;
    // write(2) of a file gives 0 for nothing else.
    if (bytes == 0) return -ENOSPC;
    done += static_cast<size_t>(bytes);
  }
  return static_cast<int64_t>(done);
}

int64_t FileSystemOf(int fd) {
  struct statfs found;
  int64_t error = Retry([&] { return fstatfs(fd, &found); });
  return error < 0 ? error : static_cast<uint32_t>(found.f_type);
}

}  // namespace

void Perform(Call* call) {
  const char* name = call->texts[0];
  const char* other = call->texts[1];
  int fd = Number(*call, 0);
  int second = Number(*call, 1);
  int third = Number(*call, 2);
  // With what is to be done: one turn to JavaScript and back for both.
  if (call->may_be_stale() && *name != '\0') LookUpAgain(fd, name);
  call->result = [&]() -> int64_t {
    switch (call->kind) {
      case Call::Kind::kOpen:
        return WithStat(call, Retry([&] { return openat(fd, name, second | O_CLOEXEC, third); }));
      case Call::Kind::kOpenBeneath:
        return WithStat(call, OpenBeneath(fd, name, second));
      case Call::Kind::kOpenRegular:
        return WithContent(call, OpenRegular(fd, name, call->may_be_stale()));
      case Call::Kind::kStat:
        return StatOrLinkInto(call, fd, name);
      case Call::Kind::kFileSystem:
        return FileSystemOf(fd);
      case Call::Kind::kReadlink:
        return ReadlinkInto(call);
      case Call::Kind::kNames:
        return NamesInto(call);
      case Call::Kind::kLookUpAgain:
        LookUpEach(fd, call->texts[0]);
        return 0;
      case Call::Kind::kRead:
        return ReadInto(call);
      case Call::Kind::kWrite:
        return WriteAll(*call);
      case Call::Kind::kMakeDirectory:
        return Retry([&] { return mkdirat(fd, name, static_cast<mode_t>(second)); });
      case Call::Kind::kSymlink:
        return Retry([&] { return symlinkat(name, fd, other); });
      case Call::Kind::kLink:
        return Retry([&] { return linkat(fd, name, second, other, 0); });
      case Call::Kind::kRename:
        // The raw call: glibc has renameat2() since 2.28 only.
        return Retry([&] { return syscall(SYS_renameat2, fd, name, second, other, third); });
      case Call::Kind::kUnlink:
        return Retry([&] { return unlinkat(fd, name, second); });
      case Call::Kind::kChangeMode:
        // fchmod(2) does not take a descriptor of O_PATH.
        return Retry([&] { return chmod(PathOf(fd).c_str(), static_cast<mode_t>(second)); });
      case Call::Kind::kChangeOwner:
        return Retry([&] {
          return fchownat(fd, "", static_cast<uid_t>(call->numbers[1]), static_cast<gid_t>(call->numbers[2]),
                          AT_EMPTY_PATH);
        });
      case Call::Kind::kClose:
      case Call::Kind::kAwaitChange:
        break;
    }
    return -EINVAL;
  }();
  // What was taken for an answer that did not come.
  if (call->result < 0) call->bytes = 0;
}
