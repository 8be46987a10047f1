#include "run/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/environment.h"
#include "run/base/report.h"
#include "run/filter.h"

namespace {

constexpr char kNoDescriptor[] = "no descriptor is left (EMFILE)";
constexpr char kNoFilter[] =
    "the kernel refuses a seccomp filter with user notification (Linux 5.14, CONFIG_SECCOMP_FILTER; gVisor "
    "has none)";
constexpr char kOtherFilter[] =
    "another supervisor has taken the system calls of this container already (sysbox, LXD): a process can "
    "have one alone";

// As the kernel has it, for the call itself.
struct Action {
  uintptr_t handler = 0;
  uint64_t flags = 0;
  uintptr_t restorer = 0;
  uint64_t mask = 0;
};

// The signals' state that this process got, for PROGRAM to have.
uint64_t mask;
Action on_child;

void SetMask(uint64_t blocked) {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, nullptr, sizeof blocked);
}

[[noreturn]] void BeChild(const int (&sockets)[2], const Options& options) {
  // prctl(2): the parent may have gone before this line.
  if (!options.goes_on) syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM);
  const int listener = InstallFilter();
  // From here on the descriptors are its own, and exec(2) closes them: if the parent ends, there is an end to
  // read.
  if (syscall(SYS_close_range, sockets[0], sockets[0], CLOSE_RANGE_UNSHARE) != 0) Exit(1);
  syscall(SYS_write, sockets[1], &listener, sizeof listener);
  char go;
  if (syscall(SYS_read, sockets[1], &go, 1) != 1) Exit(1);
  if (IsReported()) {
    Text line;
    line.Add("{\"event\":\"start\",\"pid\":").Add(syscall(SYS_getpid)).Add("}\n");
    WriteReport(line);
  }
  Execute(options.program);
}

// no_new_privs: it would run, but not as whom it has to.
bool TakesRightsAt(const char* path, const struct stat& found) {
  if ((found.st_mode & S_ISUID) != 0 && found.st_uid != geteuid()) return true;
  if ((found.st_mode & S_ISGID) != 0 && found.st_gid != getegid()) return true;
  char capabilities[64];
  return geteuid() != 0 &&
         syscall(SYS_getxattr, path, "security.capability", capabilities, sizeof capabilities) > 0;
}

bool TakesRights(const char* name) {
  bool takes = false;
  FindCommand(name, [&](const char* path) {
    struct stat found;
    const bool is_it = syscall(SYS_newfstatat, AT_FDCWD, path, &found, 0) == 0 && S_ISREG(found.st_mode) &&
                       syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
    takes = is_it && TakesRightsAt(path, found);
    return is_it;
  });
  return takes;
}

}  // namespace

const char* WhyNot(const Options& options) {
  utsname system;
  syscall(SYS_uname, &system);
  const char* at = system.release;
  const uint64_t major = NumberAt(&at);
  if (*at == '.') at++;
  if (major < 5 || (major == 5 && NumberAt(&at) < 14))
    return "Linux 5.14 is needed, which can put a descriptor into another process in one step "
           "(SECCOMP_ADDFD_FLAG_SEND)";
  if (TakesRights(options.program[0]))
    return "PROGRAM takes rights when it starts (set-user-ID, set-group-ID or file capabilities), which a "
           "seccomp filter without privileges forbids: run the whole as that user";
  if (syscall(SYS_faccessat, AT_FDCWD, "/proc/self/fd", X_OK) != 0)
    return "there is no /proc, by which the paths of PROGRAM are found: mount proc(5)";
  return "";
}

int BlockSignals() {
  const uint64_t all = ~uint64_t{0};
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
  // Ignored, as it may be inherited, SIGCHLD would tell nobody of the program's end.
  const Action usual;
  syscall(SYS_rt_sigaction, SIGCHLD, &usual, &on_child, sizeof on_child.mask);
  return static_cast<int>(syscall(SYS_signalfd4, -1, &all, sizeof all, SFD_NONBLOCK | SFD_CLOEXEC));
}

void Execute(char** program) {
  syscall(SYS_rt_sigaction, SIGCHLD, &on_child, nullptr, sizeof on_child.mask);
  SetMask(mask);
  execvp(program[0], program);
  const int error = errno;
  Text text;
  text.Add(program[0]).Add(": ");
  AddError(&text, error);
  text.Add(error == ENOENT ? ": it is not found" : ": it cannot be executed");
  Say(text.text());
  Exit(error == ENOENT ? 127 : 126);
}

Program Start(const Options& options, Text* why) {
  Program program;
  int sockets[2];
  if (syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    why->Add(kNoDescriptor);
    return program;
  }
  // Its descriptors are this process's until it has told the listener's number.
  const long pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) BeChild(sockets, options);
  program.pid = static_cast<pid_t>(pid);
  if (pid < 0) {
    why->Add("no process can be made (fork)");
    return program;
  }
  if (syscall(SYS_read, sockets[0], &program.listener, sizeof program.listener) <= 0)
    program.listener = -ECHILD;
  if (program.listener < 0) {
    if (program.listener == -EBUSY)
      why->Add(kOtherFilter);
    else if (program.listener == -EMFILE)
      why->Add(kNoDescriptor);
    else
      AddError(&why->Add(kNoFilter).Add(": "), -program.listener);
    syscall(SYS_kill, pid, SIGKILL);
    syscall(SYS_wait4, pid, nullptr, 0, nullptr);
  } else {
    // The processes that it leaves behind stay descendants, whose memory may be read
    // (kernel.yama.ptrace_scope).
    syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
    // From here on all that it asks is answered.
    syscall(SYS_write, sockets[0], "", 1);
  }
  for (int end : sockets) close(end);
  return program;
}

bool Reap(const Program& program, int* status) {
  for (;;) {
    int ended = 0;
    const long pid = syscall(SYS_wait4, -1, &ended, WNOHANG | WUNTRACED, nullptr);
    if (pid <= 0) return true;
    if (pid != program.pid) continue;
    if (WIFSTOPPED(ended)) {
      // As a whole, for whoever has started it: a shell's job, which goes on as a whole. By SIGSTOP somebody
      // stops one process, and lets that one go on.
      if (WSTOPSIG(ended) != SIGSTOP) syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
      continue;
    }
    *status = ended;
    return false;
  }
}

void EndLike(int status) {
  if (!WIFSIGNALED(status)) Exit(WEXITSTATUS(status));
  // One core file is enough.
  const rlimit none = {0, 0};
  syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr);
  SetMask(~(uint64_t{1} << (WTERMSIG(status) - 1)));
  syscall(SYS_kill, syscall(SYS_getpid), WTERMSIG(status));
  // Process 1 of a container is not ended by a signal of its own.
  Exit(128 + WTERMSIG(status));
}
