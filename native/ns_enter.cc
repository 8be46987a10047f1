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
//
// One file for glibc and musl, so it is linked to neither: of libc it calls what libc/ has, a few KB, on x64
// and arm64; elsewhere the libc that is there.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/retry.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace {

constexpr int kParent = 3;

// Constants of <linux/mount.h>, which cannot be included together with <sys/mount.h>, and of Linux 5.2: the
// headers may be older.
constexpr unsigned kFsopenCloexec = 1, kFsmountCloexec = 1;
constexpr unsigned kSetString = 1, kCreate = 6;
constexpr unsigned kNosuid = 2, kNodev = 4;
constexpr unsigned kFromEmptyPath = 4, kToEmptyPath = 0x40;
// The same on every architecture.
constexpr long kMoveMount = 429, kFsopen = 430, kFsconfig = 431, kFsmount = 432;

void Tell(const Text& line) {
  // The parent may be gone. The next read finds that out.
  Retry([&] { return syscall(SYS_write, kParent, line.text(), line.length()); });
}

// Tells which call failed, and is false.
bool Failed(const char* call) {
  Tell(Text().Add("failed ").Add(call).Add(" ").Add(errno).Add("\n"));
  return false;
}

bool WriteFile(const char* path, const char* text) {
  UniqueFd file(openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return false;
  const size_t length = strlen(text);
  return syscall(SYS_write, file.get(), text, length) == static_cast<long>(length);
}

// The ids that a user namespace made here knows.
struct Ids {
  bool all_users = true;
  bool all_groups = true;
};

constexpr char kUsersMapped = 1, kGroupsMapped = 2;

// One byte from whoever started this; false if it is gone.
bool Answer(char* byte) {
  return Retry([&] { return read(kParent, byte, 1); }) == 1;
}

// A map of one id to itself.
Text Itself(unsigned id) {
  return Text().Add(id).Add(" ").Add(id).Add(" 1");
}

// user_namespaces(7): all ids can be mapped by one with CAP_SETUID (CAP_SETGID) in the namespace above, which
// this process has left. Without, a process may map its own ids alone, and its group only once it has given
// up setgroups(2).
bool MapIds(uid_t user, gid_t group, Ids* ids) {
  char mapped;
  Tell(Text().Add("map\n"));
  if (!Answer(&mapped)) return false;
  ids->all_users = (mapped & kUsersMapped) != 0;
  ids->all_groups = (mapped & kGroupsMapped) != 0;
  if (!ids->all_users && !WriteFile("/proc/self/uid_map", Itself(user).text())) return Failed("uid_map");
  if (ids->all_groups) return true;
  // ENOENT: Linux before 3.19 has no such condition.
  if (!WriteFile("/proc/self/setgroups", "deny") && errno != ENOENT) return Failed("setgroups");
  return WriteFile("/proc/self/gid_map", Itself(group).text()) || Failed("gid_map");
}

// Without CAP_SYS_ADMIN by way of a user namespace, in which there is one.
bool LeaveNamespace(Ids* ids) {
  if (syscall(SYS_unshare, CLONE_NEWNS) == 0) return true;
  if (errno != EPERM) return Failed("unshare(CLONE_NEWNS)");
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return Failed("unshare(CLONE_NEWUSER|CLONE_NEWNS)");
  return MapIds(user, group, ids);
}

bool Configure(int filesystem, const char* key, const char* value) {
  return syscall(kFsconfig, filesystem, kSetString, key, value, 0) == 0;
}

// Sets the owner and mode of the tmpfs's root to what `covered` has.
bool Resemble(int filesystem, const struct statx& covered, const Ids& ids) {
  // An owner that a user namespace does not know is shown as the overflow id, and cannot be given to
  // anything.
  const bool foreign_user = !ids.all_users && covered.stx_uid != geteuid();
  const bool foreign_group = !ids.all_groups && covered.stx_gid != getegid();
  const uid_t owner = foreign_user ? geteuid() : covered.stx_uid;
  unsigned mode = covered.stx_mode & 07777;
  // The parent writes there as this user. As the owner it could take that right at any time.
  if (owner == geteuid()) mode |= 0700;
  // The setgid bit would make what is put there belong to a group that it does not belong to in what is
  // covered.
  if (foreign_group) mode &= ~02000U;
  const gid_t group = foreign_group ? getegid() : covered.stx_gid;
  return Configure(filesystem, "mode", Text().Add(mode, 8).text()) &&
         Configure(filesystem, "uid", Text().Add(owner).text()) &&
         Configure(filesystem, "gid", Text().Add(group).text());
}

constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// -1 and errno where it fails, as all here.
int OpenDirectory(int at, const char* name) {
  const auto fd = static_cast<int>(Retry([&] { return openat(at, name, kDirectory); }));
  return fd < 0 ? -1 : fd;
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
  constexpr unsigned kMask = STATX_MODE | STATX_UID | STATX_GID;
  struct statx covered;
  // statx(2) is older than fsopen(2).
  if (!held.is_open() || syscall(SYS_statx, held.get(), "", AT_EMPTY_PATH, kMask, &covered) != 0)
    return Failed("open");
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
    constexpr char kUsage[] =
        "inotify_bridge_enter: started by 'inotify-bridge mirror --in-place', and of no use otherwise\n";
    syscall(SYS_write, STDERR_FILENO, kUsage, strlen(kUsage));
    return 2;
  }
  // The command must not have it: its end tells that the command has started.
  if (syscall(SYS_fcntl, kParent, F_SETFD, FD_CLOEXEC) != 0) return 2;

  Ids ids;
  if (!LeaveNamespace(&ids)) return 1;
  // Slave, not private: nothing that is mounted from now on gets out, and what a node mounts into the pod
  // later (HostToContainer, an automount) still gets in.
  if (syscall(SYS_mount, nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return Failed("mount(MS_SLAVE)"), 1;
  UniqueFd root;
  if (!Cover(argv[1], argv[2], ids, &root)) return 1;
  // Left alone, the command would go on with a directory that nobody keeps up to date. prctl(2): execve keeps
  // it, and it may come more than once, for each thread of the parent that the command is handed on to.
  // Before the read, which finds out if that has happened by now.
  if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM) != 0) return Failed("prctl"), 1;

  Tell(Text().Add("ready ").Add(root.get()).Add("\n"));
  char go;
  if (!Answer(&go)) return 1;
  // A working directory in what is covered is still the covered one: mounting moves nobody. And the path may
  // lead elsewhere by now.
  if (argv[3][0] != '\0') {
    UniqueFd working(OpenResolved(root.get(), argv[3]));
    if (!working.is_open() || syscall(SYS_fchdir, working.get()) != 0) return Failed("chdir"), 1;
  }
  // libuv has given back every signal's default action and unblocked them all.
  execvp(argv[4], argv + 4);
  return Failed("execvp"), 1;
}
