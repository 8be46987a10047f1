#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>

#include "base/bytes.h"
#include "base/fd_path.h"
#include "base/listed_entries.h"
#include "base/retry.h"
#include "base/statx.h"
#include "base/unique_fd.h"
#include "syscalls/call.h"

namespace {

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
int OpenBeneath(int directory, const char* name, int flags) {
  if (strchr(name, '/') != nullptr || strcmp(name, "..") == 0) return -EINVAL;
  constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int fd = OpenAt(directory, name, flags | O_NOFOLLOW, kResolve);
  return fd != -ENOSYS && fd != -EPERM ? fd : OpenAt(directory, name, flags | O_NOFOLLOW);
}

// The type is that of the inode held, not of whatever the name stands for by the time that it is opened for
// reading: no FIFO is ever waited for, and no device set off.
int OpenRegular(int directory, const char* name, bool may_be_stale) {
  UniqueFd inode(OpenBeneath(directory, name, O_PATH));
  if (!inode.is_open()) return inode.get();
  Statx facts;
  int error = StatAt(inode.get(), "", &facts);
  if (error < 0) return error;
  // Which open(2) itself never says.
  if (!facts.is_file()) return -EPROTOTYPE;
  // O_NONBLOCK: a lease that somebody holds on it (fcntl(2)) is EAGAIN then, not a wait of up to 45 s.
  int fd = OpenAt(AT_FDCWD, FdPath(inode.get()).c_str(), O_RDONLY | O_NONBLOCK);
  // virtiofs in cache=always shows what it has read before for ever, whatever has become of the file.
  if (fd >= 0 && may_be_stale) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return fd;
}

int64_t WriteAll(const Call& call) {
  size_t done = 0;
  while (done < call.lengths[0]) {
    int64_t bytes =
        Retry([&] { return write(call.number(0), call.texts[0] + done, call.lengths[0] - done); });
    if (bytes < 0) return bytes;
    // write(2) of a file gives 0 for nothing else.
    if (bytes == 0) return -ENOSPC;
    done += static_cast<size_t>(bytes);
  }
  return static_cast<int64_t>(done);
}

timespec TimeOf(const statx_timestamp& time) {
  return {time.tv_sec, static_cast<long>(time.tv_nsec)};
}

// The time of the last access, too, unless `modified_only`.
int64_t CopyTimes(int from, int to, bool modified_only) {
  struct statx found;
  int error = AskStatx(from, "", AT_EMPTY_PATH, STATX_ATIME | STATX_MTIME, &found);
  if (error < 0) return error;
  timespec times[] = {TimeOf(found.stx_atime), TimeOf(found.stx_mtime)};
  if (modified_only) times[0].tv_nsec = UTIME_OMIT;
  return Retry([&] { return futimens(to, times); });
}

int64_t FileSystemOf(int fd) {
  struct statfs found;
  int64_t error = Retry([&] { return fstatfs(fd, &found); });
  return error < 0 ? error : static_cast<uint32_t>(found.f_type);
}

constexpr size_t kPackedStat = 11 * sizeof(uint64_t);

// As FileStat in src/mounts/syscalls/file_stat.ts reads it. 0 or -errno.
int Append(const Statx& facts, Bytes* data) {
  const uint64_t fields[] = {facts.ino,   facts.mode,  facts.uid,   facts.gid,    facts.size, facts.mtime,
                             facts.ctime, facts.nlink, facts.mount, facts.device, facts.btime};
  static_assert(sizeof fields == kPackedStat);
  return data->Append(fields, sizeof fields) ? 0 : -ENOMEM;
}

// The number of bytes, or -errno.
int64_t AppendText(Bytes* data, int directory, const char* name) {
  uint8_t* room = data->Room(PATH_MAX);
  if (room == nullptr) return -ENOMEM;
  int64_t bytes = Retry([&] { return readlinkat(directory, name, reinterpret_cast<char*>(room), PATH_MAX); });
  if (bytes > 0) data->Add(static_cast<size_t>(bytes));
  return bytes;
}

// Appends the stat of an opened file, which most callers look at next: one turn to JavaScript and back for
// both. Closes the descriptor, `fd`, if there is no stat to be had.
int64_t WithStat(Call* call, int64_t fd) {
  UniqueFd opened(static_cast<int>(fd));
  if (!opened.is_open()) return fd;
  Statx facts;
  int error = StatAt(opened.get(), "", &facts, true);
  if (error == 0) error = Append(facts, &call->data);
  return error < 0 ? error : opened.release();
}

// Appends likewise the first bytes of a file opened to be read, and before them a stat from after the read.
int64_t WithContent(Call* call, int64_t fd) {
  const auto most = static_cast<size_t>(call->numbers[1]);
  UniqueFd opened(static_cast<int>(WithStat(call, fd)));
  if (!opened.is_open() || most == 0) return opened.release();
  uint8_t* room = call->data.Room(kPackedStat + most);
  if (room == nullptr) return -ENOMEM;
  int64_t bytes = Retry([&] { return read(opened.get(), room + kPackedStat, most); });
  if (bytes < 0) return bytes;
  Statx after;
  int error = StatAt(opened.get(), "", &after, true);
  if (error == 0) error = Append(after, &call->data);
  if (error < 0) return error;
  call->data.Add(static_cast<size_t>(bytes));
  return opened.release();
}

// Appends an entry's stat, and behind it the text of a symlink.
int64_t StatOrLinkInto(Call* call, int directory, const char* name) {
  Statx facts;
  int error = StatAt(directory, name, &facts, true);
  UniqueFd link;
  // Another may have the name by now: stat and text are to be of one link.
  if (error == 0 && facts.is_symlink() && *name != '\0') {
    link.reset(OpenAt(directory, name, O_PATH | O_NOFOLLOW));
    if (!link.is_open()) return link.get();
    directory = link.get();
    error = StatAt(directory, "", &facts, true);
  }
  if (error == 0) error = Append(facts, &call->data);
  if (error < 0 || !facts.is_symlink()) return error;
  int64_t bytes = AppendText(&call->data, directory, "");
  return bytes < 0 ? bytes : 0;
}

int64_t ReadlinkInto(Call* call) {
  int64_t bytes = AppendText(&call->data, call->number(0), call->texts[0]);
  return bytes == PATH_MAX ? -ENAMETOOLONG : bytes;
}

// Appends the names, each with its zero, and returns their number: at most so many.
int64_t NamesInto(Call* call) {
  // Anew, for an offset of its own.
  const auto open = [](int at, const char* path, int flags) { return OpenAt(at, path, flags); };
  UniqueFd directory(OpenToList(call->number(0), call->numbers[2] != 0, open));
  if (!directory.is_open()) return directory.get();
  alignas(ListedEntry) char room[32 * 1024];
  int64_t count = 0;
  int64_t ended = ForEachEntry(directory.get(), room, sizeof room, [&](const ListedEntry& entry) {
    if (count == call->numbers[1]) return 1;
    count++;
    return call->data.Append(entry.name, strlen(entry.name) + 1) ? 0 : -ENOMEM;
  });
  return ended < 0 ? ended : count;
}

int64_t ReadInto(Call* call) {
  const auto most = static_cast<size_t>(call->numbers[1]);
  uint8_t* room = call->data.Room(most);
  if (room == nullptr) return -ENOMEM;
  int64_t bytes = Retry([&] { return read(call->number(0), room, most); });
  if (bytes > 0) call->data.Add(static_cast<size_t>(bytes));
  return bytes;
}

}  // namespace

void Perform(Call* call) {
  const char* name = call->texts[0];
  const char* other = call->texts[1];
  int fd = call->number(0);
  int second = call->number(1);
  int third = call->number(2);
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
        return Retry([&] { return chmod(FdPath(fd).c_str(), static_cast<mode_t>(second)); });
      case Call::Kind::kChangeOwner:
        return Retry([&] {
          return fchownat(fd, "", static_cast<uid_t>(call->numbers[1]), static_cast<gid_t>(call->numbers[2]),
                          AT_EMPTY_PATH);
        });
      case Call::Kind::kSync:
        return Retry([&] { return fsync(fd); });
      case Call::Kind::kLock:
        return Retry([&] { return flock(fd, second); });
      case Call::Kind::kCopyTimes:
        return CopyTimes(fd, second, third != 0);
      case Call::Kind::kClose:
      case Call::Kind::kAwaitChange:
        break;
    }
    return -EINVAL;
  }();
  // Drops room that was taken for an answer that did not come.
  if (call->result < 0) call->data.Clear();
}
