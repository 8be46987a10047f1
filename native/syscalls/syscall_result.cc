#include "syscalls/syscall_result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/bytes.h"
#include "base/fd_path.h"
#include "base/listed_entries.h"
#include "base/retry.h"
#include "base/statx.h"
#include "base/unique_fd.h"

namespace {

constexpr size_t kPackedStat = 11 * sizeof(uint64_t);

// As FileStat in src/mounts/syscalls/file_stat.ts reads it.
void Pack(const Statx& facts, uint8_t* to) {
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

// 0 or -errno.
int Append(const Statx& facts, Bytes* data) {
  uint8_t* room = data->Room(kPackedStat);
  if (room == nullptr) return -ENOMEM;
  Pack(facts, room);
  data->Add(kPackedStat);
  return 0;
}

// The number of bytes, or -errno.
int64_t AppendText(Bytes* data, int directory, const char* name) {
  uint8_t* room = data->Room(PATH_MAX);
  if (room == nullptr) return -ENOMEM;
  int64_t bytes = Retry([&] { return readlinkat(directory, name, reinterpret_cast<char*>(room), PATH_MAX); });
  if (bytes > 0) data->Add(static_cast<size_t>(bytes));
  return bytes;
}

bool IsSymlink(const Statx& facts) {
  return (facts.mode & S_IFMT) == S_IFLNK;
}

}  // namespace

int64_t WithStat(Call* call, int64_t fd) {
  UniqueFd opened(static_cast<int>(fd));
  if (!opened.is_open()) return fd;
  Statx facts;
  int error = StatAt(opened.get(), "", &facts, true);
  if (error == 0) error = Append(facts, &call->data);
  return error < 0 ? error : opened.release();
}

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
  if (error < 0) return error;
  Pack(after, room);
  call->data.Add(kPackedStat + static_cast<size_t>(bytes));
  return opened.release();
}

int64_t StatOrLinkInto(Call* call, int directory, const char* name) {
  Statx facts;
  int error = StatAt(directory, name, &facts, true);
  UniqueFd link;
  // Another may have the name by now: stat and text are to be of one link.
  if (error == 0 && IsSymlink(facts) && *name != '\0') {
    link.reset(OpenAt(directory, name, O_PATH | O_NOFOLLOW));
    if (!link.is_open()) return link.get();
    directory = link.get();
    error = StatAt(directory, "", &facts, true);
  }
  if (error == 0) error = Append(facts, &call->data);
  if (error < 0 || !IsSymlink(facts)) return error;
  int64_t bytes = AppendText(&call->data, directory, "");
  return bytes < 0 ? bytes : 0;
}

int64_t ReadlinkInto(Call* call) {
  int64_t bytes = AppendText(&call->data, call->number(0), call->texts[0]);
  return bytes == PATH_MAX ? -ENAMETOOLONG : bytes;
}

int64_t NamesInto(Call* call) {
  // Anew, for an offset of its own. To find '.' takes the permission to search, to list that of reading
  // alone.
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
  UniqueFd directory(OpenAt(call->number(0), ".", kFlags));
  if (directory.get() == -EACCES) directory.reset(OpenAt(AT_FDCWD, PathOf(call->number(0)).c_str(), kFlags));
  if (!directory.is_open()) return directory.get();
  // NFS goes on showing the listing that it has in its page cache until the directory's change attribute
  // differs, and a server without a counter gives a time for that: for ever, of two changes at one time.
  if (call->numbers[2] != 0) posix_fadvise(directory.get(), 0, 0, POSIX_FADV_DONTNEED);
  constexpr size_t kRoom = 32 * 1024;
  Bytes entries;
  uint8_t* room = entries.Room(kRoom);
  if (room == nullptr) return -ENOMEM;
  for (int64_t count = 0;;) {
    int64_t bytes = Retry([&] { return syscall(SYS_getdents64, directory.get(), room, kRoom); });
    if (bytes <= 0) return bytes < 0 ? bytes : count;
    ListedEntries listed(room, static_cast<size_t>(bytes));
    while (const ListedEntry* entry = listed.Next()) {
      if (count == call->numbers[1]) return count;
      if (!call->data.Append(entry->name, strlen(entry->name) + 1)) return -ENOMEM;
      count++;
    }
    // As Linux says it of a name that is none.
    if (!listed.at_end()) return -EIO;
  }
}

int64_t ReadInto(Call* call) {
  const auto most = static_cast<size_t>(call->numbers[1]);
  uint8_t* room = call->data.Room(most);
  if (room == nullptr) return -ENOMEM;
  int64_t bytes = Retry([&] { return read(call->number(0), room, most); });
  if (bytes > 0) call->data.Add(static_cast<size_t>(bytes));
  return bytes;
}
