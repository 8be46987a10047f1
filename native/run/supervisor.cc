// inotify-bridge run: runs a program so that it hears by inotify(7) of changes on mounts that deliver no
// events.
//
//   inotify_bridge_run [OPTIONS] -- PROGRAM [ARG...]
//
// A seccomp filter hands the program's inotify_init(2), inotify_add_watch(2) and inotify_rm_watch(2) to this
// process. The instance that the program gets is an ordinary one, made here. Of what lies on a mount that
// tells of all, the kernel answers as ever, and this process has no part in it. In place of what lies on a
// silent mount its shadow is watched (shadow.h), where all is done that local events and looks say.
//
// One file for glibc and musl, and for an image that has neither: see native/binding.gyp.

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>
#include <vector>

#include "run/base/report.h"
#include "run/caller.h"
#include "run/program.h"
#include "run/relay.h"
#include "run/watched/instance.h"
#include "run/watched/mounts.h"
#include "run/watched/polling.h"

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND 2
#endif

namespace {

// ms between two looks at which instances are closed.
constexpr unsigned kSweep = 2000;
// So many sweeps follow the making of an instance where nothing is polled. One that is closed later is found
// when the next is made: a program that makes none is left alone.
constexpr unsigned kSweeps = 3;
// ms until what a look has found is looked at once more.
constexpr unsigned kAgain = 10;
// ms between two looks while a relay says when to look: one of another directory, say, says nothing.
constexpr unsigned kRelayed = 30000;

// In place of a call's result: the kernel is to answer.
constexpr int64_t kOfTheKernel = INT64_MIN;

constexpr uint64_t kMillisecond = 1000000, kSecond = 1000000000;

// ns.
uint64_t Now() {
  timespec now = {};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

class Supervisor {
 public:
  explicit Supervisor(const Options& options) : options_(options), relay_(options.relay) {}

  [[noreturn]] void Run();

 private:
  [[noreturn]] void Serve();
  void TakeSignals();
  void End(int status);

  void Answer();
  void Respond(const seccomp_notif& asked, int64_t result);
  void MakeInstance(const seccomp_notif& asked, int flags);
  int64_t AddWatch(const seccomp_notif& asked);
  bool IsPolled(int found) const;
  int64_t RemoveWatch(const seccomp_notif& asked);

  void Tick();
  void Rest(bool is_told = true);
  void Hasten();
  unsigned Interval() const;
  void Sweep();
  // `wd`: -1 where the kernel answers, for nobody here knows its number.
  void Report(const seccomp_notif& asked, const char* path, int wd);

  const Options& options_;
  Program program_;
  UniqueFd signals_;
  Instances instances_;
  Polling polling_;
  Relay relay_;
  unsigned sweeps_ = 0;
  // When the last sweep was, and when the next look is due; 0: none is.
  uint64_t swept_ = 0, due_ = 0;
  // The moment before which a relay has nobody look: the server and the callers have a rest, too.
  uint64_t rested_ = 1;
};

void Supervisor::Run() {
  if (options_.as_child) syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM);
  // A signal that comes before the program is there waits for it.
  signals_.reset(BlockSignals());
  instances_.NoteInherited();
  Text why;
  why.Add(signals_.is_open() ? WhyNot(options_) : "no descriptor is left (EMFILE)");
  if (why.length() == 0) why.Add(polling_.Open());
  if (why.length() == 0) program_ = Start(options_, &why);
  if (why.length() > 0) {
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
  Serve();
}

void Supervisor::Serve() {
  pollfd asked[] = {
      {signals_.get(), POLLIN, 0}, {polling_.fd(), POLLIN, 0}, {program_.listener, POLLIN, 0}, {-1, 0, 0}};
  for (;;) {
    asked[3] = relay_.asked();
    // Until the next look is due, or the relay.
    const uint64_t due = due_ == 0 || (relay_.due() != 0 && relay_.due() < due_) ? relay_.due() : due_;
    const uint64_t now = due == 0 ? 0 : Now();
    const uint64_t left = due > now ? due - now : 0;
    const timespec wait = {static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
    if (syscall(SYS_ppoll, asked, 4, due == 0 ? nullptr : &wait, nullptr, 8) < 0) continue;
    // First: what takes time below is no silence of the relay's.
    if (relay_.Take(asked[3].revents, due == 0 ? 0 : Now())) Hasten();
    if (asked[0].revents != 0) TakeSignals();
    if (asked[1].revents != 0) polling_.TakeLocal();
    if ((asked[2].revents & POLLIN) != 0) Answer();
    if (due_ != 0 && Now() >= due_) Tick();
    if ((asked[2].revents & POLLHUP) == 0) continue;
    // No process is left that has the filter.
    if (program_.pid < 0) {
      polling_.RemoveGround();
      Exit(0);
    }
    asked[2].fd = -1;
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
    // A terminal tells the whole process group, so the program too. SIGPIPE may be of this process's own
    // making, by Say().
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
  // All others end with process 1.
  const bool is_left = syscall(SYS_ppoll, &asked, 1, &kNow, nullptr, 8) == 0 && syscall(SYS_getpid) != 1;
  const long next = is_left ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : -1;
  if (next < 0) polling_.RemoveGround();
  if (next != 0) EndLike(status);
  program_.pid = -1;
  // A reader of the program's output is not to wait for this process.
  UniqueFd null(OpenAt(AT_FDCWD, "/dev/null", O_RDWR));
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) syscall(SYS_dup3, null.get(), fd, 0);
  CloseReport();
}

void Supervisor::Respond(const seccomp_notif& asked, int64_t result) {
  seccomp_notif_resp answer = {};
  answer.id = asked.id;
  if (result == kOfTheKernel)
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  else if (result < 0)
    answer.error = static_cast<int>(result);
  else
    answer.val = result;
  // ENOENT: whoever asked has ended.
  syscall(SYS_ioctl, program_.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
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
    case SYS_inotify_add_watch:
      return Respond(asked, AddWatch(asked));
    default:
      return Respond(asked, RemoveWatch(asked));
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
  if (made == nullptr) return Respond(asked, -error);
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
  text.Add(is_json ? ",\"path\":\"" : " watches \"").AddEscaped(path).Add("\"");
  if (is_json && wd >= 0) text.Add(",\"wd\":").Add(wd);
  text.Add(is_json ? ",\"source\":\"" : " by ").Add(wd >= 0 ? "poll" : "inotify");
  if (!is_json) return Say(text.text());
  text.Add("\"}\n");
  if (IsReported()) return WriteReport(text);
  syscall(SYS_write, STDERR_FILENO, text.text(), text.length());
}

bool Supervisor::IsPolled(int found) const {
  return options_.backend == Backend::kPoll || (options_.backend == Backend::kAuto && IsSilent(found));
}

int64_t Supervisor::AddWatch(const seccomp_notif& asked) {
  const auto thread = static_cast<pid_t>(asked.pid);
  const auto mask = static_cast<uint32_t>(asked.data.args[2]);
  char path[PATH_MAX];
  if (ReadPath(thread, asked.data.args[1], path, sizeof path) < 0) return kOfTheKernel;
  const bool follow = (mask & IN_DONT_FOLLOW) == 0;
  UniqueFd found(OpenFor(thread, path, follow));
  for (int none_left : {-EMFILE, -ENFILE, -EAGAIN})
    if (found.get() == none_left) return -ENOSPC;
  // The kernel says why a path is not to be opened: most likely that is an error of the program's.
  if (!found.is_open()) return kOfTheKernel;
  Instance* instance =
      IsPolled(found.get()) ? instances_.Of(thread, static_cast<int>(asked.data.args[0])) : nullptr;
  if (instance == nullptr) return Report(asked, path, -1), kOfTheKernel;
  Statx facts;
  if (OpenAgainAs(thread, path, follow, &found) < 0 || StatAt(found.get(), "", &facts) < 0)
    return kOfTheKernel;
  // The thread that asked may have ended, and another have its number by now, whose memory and directories
  // were those.
  if (syscall(SYS_ioctl, program_.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) != 0) return 0;
  int error = 0;
  const bool was_idle = polling_.size() == 0;
  Polled* polled = polling_.At(&found, facts, mask, &error);
  if (polled == nullptr) return error;
  // The relay may tell nothing of the one that has come.
  if (was_idle || due_ > Now() + Interval() * kMillisecond) Rest();
  polled->SetWay(thread, path);
  const int wd = polled->shadow()->Watch(instance, mask);
  if (wd >= 0) {
    instance->Note(wd, polled);
    Report(asked, path, wd);
  }
  polling_.ReleaseIfUnwatched(polled);
  return wd;
}

int64_t Supervisor::RemoveWatch(const seccomp_notif& asked) {
  if (polling_.size() == 0) return kOfTheKernel;
  Instance* instance = instances_.Of(static_cast<pid_t>(asked.pid), static_cast<int>(asked.data.args[0]));
  const int wd = static_cast<int>(asked.data.args[1]);
  Polled* polled = instance == nullptr ? nullptr : instance->Find(wd);
  if (polled == nullptr) return kOfTheKernel;
  const int64_t result = syscall(SYS_inotify_rm_watch, instance->fd(), wd) == 0 ? 0 : -errno;
  polled->shadow()->Forget(instance, wd);
  instance->Forget(wd);
  polling_.ReleaseIfUnwatched(polled);
  return result;
}

void Supervisor::Tick() {
  const uint64_t began = Now();
  const bool is_told = polling_.Look();
  const uint64_t ended = Now(), took = ended - began;
  // Not one look after the other, whatever happens at the host.
  constexpr uint64_t kLeast = 50 * kMillisecond;
  rested_ = ended + (took < kLeast ? kLeast : took < kSecond ? took : kSecond);
  if (polling_.size() == 0 || Now() - swept_ >= kSweep * kMillisecond) Sweep();
  polling_.ReleaseUnwatched();
  Rest(is_told);
}

// The interval begins when a look has ended: however long that took, what is asked meanwhile is answered.
void Supervisor::Rest(bool is_told) {
  const unsigned interval = is_told || options_.interval < kAgain ? Interval() : kAgain;
  const unsigned wait = polling_.size() > 0 ? interval : sweeps_ > 0 ? kSweep : 0;
  due_ = wait == 0 ? 0 : Now() + wait * kMillisecond;
}

// Looks as soon as may be.
void Supervisor::Hasten() {
  if (polling_.size() > 0 && rested_ < due_) due_ = rested_;
}

unsigned Supervisor::Interval() const {
  const bool is_told = relay_.is_there() && options_.interval < kRelayed && polling_.is_of_one();
  return is_told ? kRelayed : options_.interval;
}

void Supervisor::Sweep() {
  swept_ = Now();
  if (sweeps_ > 0) sweeps_--;
  std::vector<Instance*> closed;
  instances_.FindClosed(&closed);
  for (Instance* each : closed) {
    for (const Watch& watch : each->watches()) watch.polled->shadow()->Forget(each, watch.wd);
    instances_.Drop(each);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ReadOptions(argc, argv);
  Supervisor(options).Run();
}
