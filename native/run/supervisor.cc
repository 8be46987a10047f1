#include "run/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "run/base/report.h"
#include "run/caller.h"
#include "run/program.h"
#include "run/watched/instance.h"
#include "run/watched/mounts.h"
#include "run/watched/polling.h"

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND 2
#endif

namespace {

// ms between two looks at which instances are closed.
constexpr unsigned kSweep = 2000;
// Sweeps behind the last instance that was made. Where nothing is polled, whatever is closed later waits for
// the next one: a program that makes none is left alone.
constexpr unsigned kSweeps = 3;
// ms until what a look has found is looked at once more.
constexpr unsigned kAgain = 10;

// ms.
uint64_t Now() {
  timespec now = {};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

class Supervisor {
 public:
  explicit Supervisor(const Options& options) : options_(options) {}

  [[noreturn]] void Run();

 private:
  bool Open(Text* why);
  void Add(int fd);
  [[noreturn]] void Serve();
  void TakeSignals();
  void End(int status);

  void Answer();
  // Always true: it is answered.
  bool Respond(const seccomp_notif& asked, int64_t result, unsigned flags = 0);
  void MakeInstance(const seccomp_notif& asked, int flags);
  // False: the kernel is to answer.
  bool AddWatch(const seccomp_notif& asked);
  bool IsPolled(int found) const;
  bool RemoveWatch(const seccomp_notif& asked);

  void Tick();
  void Rest(bool is_told = true);
  void Sweep();
  // With -1: the kernel answers, and who says so does not know its number.
  void Report(const seccomp_notif& asked, const char* path, int wd);

  const Options& options_;
  Program program_;
  UniqueFd epoll_, signals_, timer_;
  Instances instances_;
  Polling polling_;
  unsigned sweeps_ = 0;
  uint64_t swept_ = 0;
};

bool Supervisor::Open(Text* why) {
  instances_.NoteInherited();
  if (!polling_.Open())
    return why->Add("no inotify instance is left for this user (EMFILE: fs.inotify.max_user_instances)"),
           false;
  timer_.reset(static_cast<int>(syscall(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)));
  epoll_.reset(static_cast<int>(syscall(SYS_epoll_create1, EPOLL_CLOEXEC)));
  if (!timer_.is_open() || !epoll_.is_open() || !signals_.is_open())
    return why->Add("no descriptor is left (EMFILE)"), false;
  for (int fd : {polling_.fd(), signals_.get(), timer_.get()}) Add(fd);
  return true;
}

void Supervisor::Add(int fd) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = fd;
  syscall(SYS_epoll_ctl, epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Supervisor::Run() {
  if (options_.as_child) prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A signal that comes before the program is there waits for it.
  signals_.reset(BlockSignals());
  Text why;
  why.Add(WhyNot(options_));
  if (*why.text() == '\0' && !polling_.MakeGround())
    why.Add(
        "there is no directory for the shadows of what is watched: one of /dev/shm, /tmp, /run and /var/tmp "
        "has to be writable, on a mount of this kernel's own");
  if (*why.text() == '\0' && Open(&why)) program_ = Start(options_, &why);
  if (*why.text() != '\0') {
    polling_.RemoveGround();
    if (!options_.attempt) Die(why.text());
    Say(why.Add("; it is started without").text(), "warning");
    Execute(options_.program);
  }
  rlimit limit;
  if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr);
    polling_.LimitDescriptors(limit.rlim_max);
  }
  Add(program_.listener);
  Serve();
}

void Supervisor::Serve() {
  for (;;) {
    epoll_event events[16];
    const long count = syscall(SYS_epoll_pwait, epoll_.get(), events, 16, -1, nullptr, 8);
    for (long i = 0; i < count; i++) {
      const int fd = events[i].data.fd;
      if (fd == signals_.get()) TakeSignals();
      if (fd == polling_.fd()) polling_.TakeLocal();
      if (fd == timer_.get()) Tick();
      if (fd != program_.listener) continue;
      if ((events[i].events & EPOLLIN) != 0) Answer();
      if ((events[i].events & EPOLLHUP) == 0) continue;
      // Nobody is left who has the filter.
      if (program_.pid < 0) {
        polling_.RemoveGround();
        Exit(0);
      }
      syscall(SYS_epoll_ctl, epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    }
  }
}

void Supervisor::TakeSignals() {
  signalfd_siginfo info;
  while (syscall(SYS_read, signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    int status;
    if (signal == SIGCHLD) {
      if (!Reap(program_, &status)) End(status);
      continue;
    }
    // A terminal tells the whole process group, so the program too. What this process has brought about
    // itself is SIGPIPE, by Say().
    const bool is_own = info.ssi_pid == static_cast<uint32_t>(syscall(SYS_getpid));
    if (program_.pid > 0 && !is_own && (info.ssi_code != SI_KERNEL || signal == SIGHUP))
      syscall(SYS_kill, program_.pid, signal);
  }
}

// Processes that the program leaves behind go on, and this process with them, behind whoever waits for the
// program.
void Supervisor::End(int status) {
  if (program_.pid < 0) return;
  pollfd asked = {program_.listener, 0, 0};
  constexpr timespec kNow = {};
  // With process 1 all others end.
  const bool is_left = syscall(SYS_ppoll, &asked, 1, &kNow, nullptr, 8) == 0 && syscall(SYS_getpid) != 1;
  const long next = is_left ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : -1;
  if (next < 0) polling_.RemoveGround();
  if (next != 0) EndLike(status);
  program_.pid = -1;
  // Whoever reads what the program wrote is not to wait for this process.
  UniqueFd null(OpenAt(AT_FDCWD, "/dev/null", O_RDWR));
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) syscall(SYS_dup3, null.get(), fd, 0);
  CloseReport();
}

bool Supervisor::Respond(const seccomp_notif& asked, int64_t result, unsigned flags) {
  seccomp_notif_resp answer = {};
  answer.id = asked.id;
  answer.error = result < 0 ? static_cast<int>(result) : 0;
  answer.val = result < 0 ? 0 : result;
  answer.flags = flags;
  // ENOENT: whoever asked has ended.
  syscall(SYS_ioctl, program_.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return true;
}

void Supervisor::Answer() {
  // The kernel may know a longer one.
  union {
    seccomp_notif asked;
    char room[512];
  } request;
  memset(&request, 0, sizeof request);
  // ENOENT: whoever asked has ended, or was interrupted.
  if (syscall(SYS_ioctl, program_.listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return;
  const seccomp_notif& asked = request.asked;
  switch (asked.data.nr) {
#if defined(SYS_inotify_init)
    case SYS_inotify_init:
      return MakeInstance(asked, 0);
#endif
    case SYS_inotify_init1:
      return MakeInstance(asked, static_cast<int>(asked.data.args[0]));
    default: {
      const bool is_answered = asked.data.nr == SYS_inotify_add_watch ? AddWatch(asked) : RemoveWatch(asked);
      if (!is_answered) Respond(asked, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    }
  }
}

void Supervisor::MakeInstance(const seccomp_notif& asked, int flags) {
  int error = 0;
  Instance* made = instances_.Make(flags, &error);
  if (error == EMFILE) {
    // The kernel counts closed ones as long as this process holds them.
    for (int i = 0; i < 2; i++) Sweep();
    made = instances_.Make(flags, &error);
  }
  if (made == nullptr) return static_cast<void>(Respond(asked, -error));
  seccomp_notif_addfd added = {};
  added.id = asked.id;
  added.flags = SECCOMP_ADDFD_FLAG_SEND;
  added.srcfd = static_cast<unsigned>(made->fd());
  added.newfd_flags = (flags & IN_CLOEXEC) != 0 ? O_CLOEXEC : 0;
  const long number = syscall(SYS_ioctl, program_.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added);
  if (number >= 0) {
    made->holder = static_cast<pid_t>(asked.pid);
    made->number = static_cast<int>(number);
    sweeps_ = kSweeps;
    if (polling_.size() == 0) Rest();
    return;
  }
  const int failed = errno;
  instances_.Drop(made);
  // ENOENT: interrupted, it asks again.
  if (failed != ENOENT) Respond(asked, failed == EBADF ? -EMFILE : -failed);
}

void Supervisor::Report(const seccomp_notif& asked, const char* path, int wd) {
  const bool is_json = options_.json || IsReported();
  if (!options_.verbose && !is_json) return;
  Text text;
  text.Add(is_json ? "{\"event\":\"watch\",\"pid\":" : "process ")
      .Add(ProcessOf(static_cast<pid_t>(asked.pid)));
  text.Add(is_json ? ",\"path\":\"" : " watches \"").AddEscaped(path).Add('"');
  if (is_json && wd >= 0) text.Add(",\"wd\":").Add(static_cast<uint64_t>(wd));
  text.Add(is_json ? ",\"source\":\"" : " by ").Add(wd >= 0 ? "poll" : "inotify");
  if (!is_json) return Say(text.text());
  text.Add("\"}\n");
  if (IsReported()) return WriteReport(text);
  syscall(SYS_write, STDERR_FILENO, text.text(), text.length());
}

bool Supervisor::IsPolled(int found) const {
  return options_.backend == Backend::kPoll || (options_.backend == Backend::kAuto && IsSilent(found));
}

bool Supervisor::AddWatch(const seccomp_notif& asked) {
  const auto thread = static_cast<pid_t>(asked.pid);
  const auto mask = static_cast<uint32_t>(asked.data.args[2]);
  char path[PATH_MAX];
  if (ReadPath(thread, asked.data.args[1], path, sizeof path) < 0) return false;
  const bool follow = (mask & IN_DONT_FOLLOW) == 0;
  UniqueFd found(OpenFor(thread, path, follow));
  if (found.get() == -EMFILE || found.get() == -ENFILE) return Respond(asked, -ENOSPC);
  // What is not to be opened is most likely an error of the program's.
  if (!found.is_open()) return false;
  Instance* instance =
      IsPolled(found.get()) ? instances_.Of(thread, static_cast<int>(asked.data.args[0])) : nullptr;
  if (instance == nullptr) return Report(asked, path, -1), false;
  Statx facts;
  if (OpenAgainAs(thread, path, follow, &found) < 0 || StatAt(found.get(), "", &facts) < 0) return false;
  // Whoever asked may have ended, and another have its number by now, whose memory and directories were
  // those.
  if (syscall(SYS_ioctl, program_.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) != 0) return true;
  int error = 0;
  const bool was_idle = polling_.size() == 0;
  Polled* polled = polling_.At(&found, facts, mask, &error);
  if (polled == nullptr) return Respond(asked, error);
  if (was_idle) Rest();
  polled->SetWay(thread, path);
  const int wd = polled->shadow()->Watch(instance, mask);
  if (wd >= 0) {
    instance->Note(wd, polled);
    Report(asked, path, wd);
  }
  polling_.ReleaseIfUnwatched(polled);
  return Respond(asked, wd);
}

bool Supervisor::RemoveWatch(const seccomp_notif& asked) {
  if (polling_.size() == 0) return false;
  Instance* instance = instances_.Of(static_cast<pid_t>(asked.pid), static_cast<int>(asked.data.args[0]));
  const int wd = static_cast<int>(asked.data.args[1]);
  Polled* polled = instance == nullptr ? nullptr : instance->Find(wd);
  if (polled == nullptr) return false;
  const long result = syscall(SYS_inotify_rm_watch, instance->fd(), wd);
  const int64_t answer = result == 0 ? 0 : -errno;
  polled->shadow()->Forget(instance, wd);
  instance->Forget(wd);
  polling_.ReleaseIfUnwatched(polled);
  return Respond(asked, answer);
}

void Supervisor::Tick() {
  uint64_t count;
  syscall(SYS_read, timer_.get(), &count, sizeof count);
  const bool is_told = polling_.Look();
  if (polling_.size() == 0 || Now() - swept_ >= kSweep) Sweep();
  polling_.ReleaseUnwatched();
  Rest(is_told);
}

// The interval begins when a look has ended: however long that took, what is asked meanwhile is answered.
void Supervisor::Rest(bool is_told) {
  const unsigned interval = is_told || options_.interval < kAgain ? options_.interval : kAgain;
  const unsigned wait = polling_.size() > 0 ? interval : sweeps_ > 0 ? kSweep : 0;
  itimerspec once = {};
  once.it_value.tv_sec = wait / 1000;
  once.it_value.tv_nsec = wait % 1000 * 1000000L;
  syscall(SYS_timerfd_settime, timer_.get(), 0, &once, nullptr);
}

void Supervisor::Sweep() {
  swept_ = Now();
  if (sweeps_ > 0) sweeps_--;
  Vector<Instance*> closed;
  instances_.FindClosed(&closed);
  for (Instance* each : closed) {
    for (const Watch& watch : each->watches()) watch.polled->shadow()->Forget(each, watch.wd);
    instances_.Drop(each);
  }
}

}  // namespace

int Supervise(const Options& options) {
  Supervisor supervisor(options);
  supervisor.Run();
}
