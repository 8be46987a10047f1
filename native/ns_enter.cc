// Runs a command in a mount namespace of its own, in which a new tmpfs lies over a directory.
//
//   inotify_bridge_enter DIRECTORY SIZE WORKING-DIRECTORY COMMAND ARG...
//
// A process of its own, since unshare(CLONE_NEWUSER) is refused to one with several threads, as Node is.
// Descriptor 3 is a socket to whoever started it: 'ready FD' is written to it when the tmpfs is there, at its
// root the descriptor FD; a byte that comes back starts the command, and its end ends this. Before that 'map'
// may be written, which asks for the id maps of a user namespace; the byte that comes back says which were
// made (kUsersMapped, kGroupsMapped). What fails is told as 'failed CALL ERRNO' instead. DIRECTORY is
// absolute; WORKING-DIRECTORY is a path beneath it, entered before the command starts, '.' for itself, '' for
// none. No symlink is followed in either.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/unique_fd.h"

namespace {

constexpr int kParent = 3;

// Of <linux/mount.h>, which cannot be included together with <sys/mount.h>, and of Linux 5.2: the headers may
// be older.
constexpr unsigned kFsopenCloexec = 1, kFsmountCloexec = 1;
constexpr unsigned kSetString = 1, kCreate = 6;
constexpr unsigned kNosuid = 2, kNodev = 4;
constexpr unsigned kFromEmptyPath = 4, kToEmptyPath = 0x40;
// The same on every architecture.
constexpr long kMoveMount = 429, kFsopen = 430, kFsconfig = 431, kFsmount = 432;

void Tell(const char* line, int length) {
  // Whoever started this may be gone: then there is nobody to tell, and the next read says so.
  ssize_t written;
  do {
    written = write(kParent, line, static_cast<size_t>(length));
  } while (written < 0 && errno == EINTR);
}

// Tells which call failed, and is false.
bool Failed(const char* call) {
  char line[128];
  Tell(line, snprintf(line, sizeof line, "failed %s %d\n", call, errno));
  return false;
}

bool WriteFile(const char* path, const char* text) {
  UniqueFd file(open(path, O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return false;
  const size_t length = strlen(text);
  return write(file.get(), text, length) == static_cast<ssize_t>(length);
}

// What a user namespace that was made here knows of ids.
struct Ids {
  bool all_users = true;
  bool all_groups = true;
};

constexpr char kUsersMapped = 1, kGroupsMapped = 2;

// One byte from whoever started this; false if it is gone.
bool Answer(char* byte) {
  ssize_t length;
  do {
    length = read(kParent, byte, 1);
  } while (length < 0 && errno == EINTR);
  return length == 1;
}

// user_namespaces(7): all ids can be mapped by one with CAP_SETUID (CAP_SETGID) in the namespace above, which
// this process has left. Without, a process may map its own ids alone, and its group only once it has given
// up setgroups(2).
bool MapIds(uid_t user, gid_t group, Ids* ids) {
  char mapped;
  Tell("map\n", 4);
  if (!Answer(&mapped)) return false;
  ids->all_users = (mapped & kUsersMapped) != 0;
  ids->all_groups = (mapped & kGroupsMapped) != 0;
  char map[64];
  snprintf(map, sizeof map, "%u %u 1", user, user);
  if (!ids->all_users && !WriteFile("/proc/self/uid_map", map)) return Failed("uid_map");
  if (ids->all_groups) return true;
  // ENOENT: Linux before 3.19 has no such condition.
  if (!WriteFile("/proc/self/setgroups", "deny") && errno != ENOENT) return Failed("setgroups");
  snprintf(map, sizeof map, "%u %u 1", group, group);
  return WriteFile("/proc/self/gid_map", map) || Failed("gid_map");
}

// Without CAP_SYS_ADMIN by way of a user namespace, in which there is one.
bool LeaveNamespace(Ids* ids) {
  if (unshare(CLONE_NEWNS) == 0) return true;
  if (errno != EPERM) return Failed("unshare(CLONE_NEWNS)");
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return Failed("unshare(CLONE_NEWUSER|CLONE_NEWNS)");
  return MapIds(user, group, ids);
}

bool Configure(int filesystem, const char* key, const char* value) {
  return syscall(kFsconfig, filesystem, kSetString, key, value, 0) == 0;
}

// Sets the owner and mode of the tmpfs's root to what `covered` has.
bool Resemble(int filesystem, const struct stat& covered, const Ids& ids) {
  char number[32];
  // An owner that a user namespace does not know is shown as the overflow id, and cannot be given to
  // anything.
  const bool foreign_user = !ids.all_users && covered.st_uid != geteuid();
  const bool foreign_group = !ids.all_groups && covered.st_gid != getegid();
  const uid_t owner = foreign_user ? geteuid() : covered.st_uid;
  mode_t mode = covered.st_mode & 07777;
  // Whoever started this writes there, as this user. As the owner it could take that right at any time.
  if (owner == geteuid()) mode |= S_IRWXU;
  // The bit would make what is put there belong to a group that it does not belong to in what is covered.
  if (foreign_group) mode &= ~static_cast<mode_t>(S_ISGID);
  snprintf(number, sizeof number, "%o", mode);
  if (!Configure(filesystem, "mode", number)) return false;
  snprintf(number, sizeof number, "%u", owner);
  if (!Configure(filesystem, "uid", number)) return false;
  snprintf(number, sizeof number, "%u", foreign_group ? getegid() : covered.st_gid);
  return Configure(filesystem, "gid", number);
}

constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

int OpenDirectory(int at, const char* name) {
  int fd;
  do {
    fd = openat(at, name, kDirectory);
    // A server of FUSE may say EINTR of its own accord.
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// A directory beneath another, by a path on which no symlink is followed, as by openat2(2) with
// RESOLVE_NO_SYMLINKS, which is of Linux 5.6: whoever started this has resolved them all. One that is there
// now has been put in a directory's place by a neighbour, who would choose what is covered, and so what the
// command takes for its own /etc.
int OpenResolved(int beneath, const char* path) {
  UniqueFd directory(OpenDirectory(beneath, "."));
  while (directory.is_open() && *(path += strspn(path, "/")) != '\0') {
    const size_t length = strcspn(path, "/");
    char name[NAME_MAX + 1];
    if (length >= sizeof name) {
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(name, path, length);
    name[length] = '\0';
    path += length;
    directory.reset(OpenDirectory(directory.get(), name));
  }
  return directory.release();
}

// Mounts a tmpfs on the directory that is held, so on that one whatever its path leads to by now, and opens
// its root.
bool Cover(const char* directory, const char* size, const Ids& ids, UniqueFd* root) {
  UniqueFd all(OpenDirectory(AT_FDCWD, "/"));
  UniqueFd held(OpenResolved(all.get(), directory));
  struct stat covered;
  if (!held.is_open() || fstat(held.get(), &covered) != 0) return Failed("open");
  UniqueFd filesystem(static_cast<int>(syscall(kFsopen, "tmpfs", kFsopenCloexec)));
  if (!filesystem.is_open()) return Failed("fsopen");
  if (!Configure(filesystem.get(), "size", size)) return Failed("fsconfig");
  if (!Resemble(filesystem.get(), covered, ids)) return Failed("fsconfig");
  if (syscall(kFsconfig, filesystem.get(), kCreate, nullptr, nullptr, 0) != 0) return Failed("fsconfig");
  root->reset(static_cast<int>(syscall(kFsmount, filesystem.get(), kFsmountCloexec, kNosuid | kNodev)));
  if (!root->is_open()) return Failed("fsmount");
  if (syscall(kMoveMount, root->get(), "", held.get(), "", kFromEmptyPath | kToEmptyPath) != 0)
    return Failed("move_mount");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fputs("inotify_bridge_enter: started by 'inotify-bridge mirror --in-place', and of no use otherwise\n",
          stderr);
    return 2;
  }
  // The command must not have it: its end tells that the command has started.
  if (fcntl(kParent, F_SETFD, FD_CLOEXEC) != 0) return 2;

  Ids ids;
  if (!LeaveNamespace(&ids)) return 1;
  // Slave, not private: nothing that is mounted from now on gets out, and what a node mounts into the pod
  // later (HostToContainer, an automount) still gets in.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return Failed("mount(MS_SLAVE)"), 1;
  UniqueFd root;
  if (!Cover(argv[1], argv[2], ids, &root)) return 1;
  // Left alone, the command would go on with a directory that nobody keeps up to date. prctl(2): execve keeps
  // it. Before the read, which finds out if that has happened by now.
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return Failed("prctl"), 1;

  char line[32];
  Tell(line, snprintf(line, sizeof line, "ready %d\n", root.get()));
  char go;
  if (!Answer(&go)) return 1;
  // A working directory in what is covered is still the covered one: mounting moves nobody. And the path may
  // lead elsewhere by now.
  if (argv[3][0] != '\0') {
    UniqueFd working(OpenResolved(root.get(), argv[3]));
    if (!working.is_open() || fchdir(working.get()) != 0) return Failed("chdir"), 1;
  }
  // libuv has given back every signal's default action and unblocked them all.
  execvp(argv[4], argv + 4);
  return Failed("execvp"), 1;
}
