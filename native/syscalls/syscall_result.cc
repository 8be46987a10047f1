#include "syscalls/syscall_result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
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

// Into the call's data. 0 or -errno.
int64_t StatInto(Call* call, int directory, const char* name) {
  Statx facts;
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

}  // namespace

int64_t WithStat(Call* call, int64_t fd) {
  if (fd < 0) return fd;
  int64_t error = StatInto(call, static_cast<int>(fd), "");
  if (error == 0) return fd;
  close(static_cast<int>(fd));
  return error;
}

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
  Statx after;
  if (bytes >= 0) error = StatAt(static_cast<int>(fd), "", &after, true);
  if (bytes >= 0 && error >= 0) {
    Pack(after, call->data + stat);
    call->bytes = 2 * stat + static_cast<size_t>(bytes);
    return fd;
  }
  close(static_cast<int>(fd));
  return bytes < 0 ? bytes : error;
}

int64_t StatOrLinkInto(Call* call, int directory, const char* name) {
  int64_t error = StatInto(call, directory, name);
  if (error < 0 || !IsSymlink(*call)) return error;
  // Another may have the name by now: stat and text are to be of one link.
  UniqueFd link;
  if (*name != '\0') {
    link.reset(OpenAt(directory, name, O_PATH | O_NOFOLLOW));
    if (!link.is_open()) return link.get();
    Statx facts;
    error = StatAt(link.get(), "", &facts, true);
    if (error < 0) return error;
    Pack(facts, call->data);
    if (!IsSymlink(*call)) return 0;
    directory = link.get();
  }
  auto* larger = static_cast<uint8_t*>(realloc(call->data, call->bytes + PATH_MAX));
  if (larger == nullptr) return -ENOMEM;
  call->data = larger;
  auto* text = reinterpret_cast<char*>(call->data + call->bytes);
  int64_t bytes = Retry([&] { return readlinkat(directory, "", text, PATH_MAX); });
  if (bytes < 0) return bytes;
  call->bytes += static_cast<size_t>(bytes);
  return 0;
}

int64_t ReadlinkInto(Call* call) {
  call->data = static_cast<uint8_t*>(malloc(PATH_MAX));
  if (call->data == nullptr) return -ENOMEM;
  auto* text = reinterpret_cast<char*>(call->data);
  int64_t bytes = Retry([&] { return readlinkat(call->number(0), call->texts[0], text, PATH_MAX); });
  if (bytes == PATH_MAX) return -ENAMETOOLONG;
  if (bytes >= 0) call->bytes = static_cast<size_t>(bytes);
  return bytes;
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
    ListedEntries listed(room, static_cast<size_t>(bytes));
    while (const ListedEntry* entry = listed.Next()) {
      if (count == call->numbers[1]) return count;
      size_t length = strlen(entry->name) + 1;
      memcpy(call->data + call->bytes, entry->name, length);
      call->bytes += length;
      count++;
    }
    // As Linux says it of a name that is none.
    if (!listed.at_end()) return -EIO;
  }
}

int64_t ReadInto(Call* call) {
  size_t most = static_cast<size_t>(call->numbers[1]);
  call->data = static_cast<uint8_t*>(malloc(most > 0 ? most : 1));
  if (call->data == nullptr) return -ENOMEM;
  int64_t bytes = Retry([&] { return read(call->number(0), call->data, most); });
  if (bytes >= 0) call->bytes = static_cast<size_t>(bytes);
  return bytes;
}
