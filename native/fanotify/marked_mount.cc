#include "fanotify/marked_mount.h"

#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/vfs.h>

#include "base/fd_path.h"
#include "base/retry.h"
#include "base/statx.h"

namespace {

// FAN_MARK_FILESYSTEM, which older headers do not have.
constexpr unsigned kWholeFileSystem = 0x100;

// The bits of fanotify's events are those of inotify's.
constexpr uint64_t kEvents =
    IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_ISDIR;

int OpenHandle(int mount, const file_handle* handle) {
  auto* same = const_cast<file_handle*>(handle);
  // O_DIRECTORY: from Linux 6.11 on who may mount the file system needs no further right then.
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  return static_cast<int>(Retry([&] { return open_by_handle_at(mount, same, kFlags); }));
}

}  // namespace

int MarkedMount::Open(int32_t file_system[2]) {
  // Not O_PATH, which open_by_handle_at(2) does not take.
  fd_.reset(OpenAt(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY));
  if (!fd_.is_open()) return fd_.get();
  struct statfs found;
  int error = static_cast<int>(Retry([&] { return fstatfs(fd_.get(), &found); }));
  if (error == 0) memcpy(file_system, &found.f_fsid, sizeof file_system_);
  return error;
}

int MarkedMount::Mark(int fanotify) {
  alignas(file_handle) char bytes[sizeof(file_handle) + MAX_HANDLE_SZ];
  auto* handle = reinterpret_cast<file_handle*>(bytes);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int64_t error = Open(file_system_);
  if (error == 0)
    error = Retry([&] { return name_to_handle_at(fd_.get(), "", handle, &id_, AT_EMPTY_PATH); });
  UniqueFd opened(error == 0 ? OpenHandle(fd_.get(), handle) : static_cast<int>(error));
  error = opened.get();
  // To whom the search of the way is not permitted (Linux 6.11), the handle of a moment ago is stale.
  if (error == -ESTALE) error = -EPERM;
  if (opened.is_open())
    error = Retry([&] {
      return fanotify_mark(fanotify, FAN_MARK_ADD | kWholeFileSystem, kEvents, fd_.get(), nullptr);
    });
  Release();
  return static_cast<int>(error);
}

const char* MarkedMount::Find(const FanDirectory& directory) {
  bool is_same = last_ != nullptr && last_->size() == directory.size() &&
                 memcmp(last_, &directory, directory.size()) == 0;
  if (!is_same) is_found_ = Resolve(directory);
  last_ = &directory;
  return is_found_ ? found_ : nullptr;
}

bool MarkedMount::Resolve(const FanDirectory& directory) {
  auto is_in = [&](int32_t file_system[2]) {
    return memcmp(directory.file_system, file_system, sizeof file_system_) == 0;
  };
  if (!is_in(file_system_)) return false;
  // By now something else may be mounted there.
  int32_t found[2];
  if (!fd_.is_open() && (Open(found) < 0 || !is_in(found))) fd_.reset();
  if (!fd_.is_open()) return false;
  UniqueFd opened(OpenHandle(fd_.get(), &directory.handle));
  if (!opened.is_open()) return false;
  ssize_t length = readlinkat(AT_FDCWD, FdPath(opened.get()).c_str(), found_, sizeof found_);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof found_) return false;
  found_[length] = '\0';
  // The kernel gives a path in any case. That of a directory which is deleted, hidden by another mount, or
  // outside of what this mount shows leads elsewhere.
  Statx there, own;
  return StatAt(AT_FDCWD, found_, &there) == 0 && StatAt(opened.get(), "", &own) == 0 &&
         there.is_inode_of(own);
}

void MarkedMount::Release() {
  last_ = nullptr;
  fd_.reset();
}
