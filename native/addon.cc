#include <errno.h>
#include <fcntl.h>
#include <napi.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/retry.h"
#include "base/statx.h"
#include "base/unique_fd.h"
#include "loop/classes.h"
#include "queue/queue.h"

// The same on every architecture. Older headers have neither.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace {

Napi::Value Answer(const Napi::CallbackInfo& info, int64_t number) {
  return Napi::Number::New(info.Env(), static_cast<double>(number));
}

int NumberAt(const Napi::CallbackInfo& info, size_t index, int unset) {
  napi_get_value_int32(info.Env(), info[index], &unset);
  return unset;
}

// The id in /proc/self/mountinfo of the mount that a path lies on, symlinks followed. 0 where the kernel
// (before 5.8, or with statx(2) refused) does not say; -errno.
Napi::Value MountId(const Napi::CallbackInfo& info) {
  Path path(info[0]);
  if (path.error() != 0) return Answer(info, path.error());
  // DONT_SYNC: the mount is known here, no server need be asked.
  constexpr int kFlags = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  struct statx found = {};
  int error = AskStatx(AT_FDCWD, path.c_str(), kFlags, STATX_MNT_ID, &found);
  if (error < 0) return Answer(info, error);
  return Answer(info, (found.stx_mask & STATX_MNT_ID) != 0 ? static_cast<int64_t>(found.stx_mnt_id) : 0);
}

// 0 unless this process is refused all of inotify: by a seccomp filter, or because a sandbox or an emulator
// has none. Then -errno of inotify_init1(2), or errno of inotify_add_watch(2). No instance is made for it,
// since to close one takes the kernel milliseconds.
Napi::Value Refusal(const Napi::CallbackInfo& info) {
  // The kernel itself answers EINVAL to unknown flags, and EBADF to no descriptor. An emulator that drops the
  // flags makes an instance.
  UniqueFd fd(inotify_init1(~0));
  if (!fd.is_open() && errno != EINVAL) return Answer(info, -errno);
  int wd = inotify_add_watch(-1, "/", IN_CREATE);
  return Answer(info, wd < 0 && errno != EBADF ? errno : 0);
}

// waitpid(2) for one child, without waiting: its pid if it had ended, 0 if it has not, or -errno.
Napi::Value Reap(const Napi::CallbackInfo& info) {
  int pid = NumberAt(info, 0, 0);
  // 0 and below stand for whole groups of children, among them those that libuv waits for by their pids.
  if (pid <= 0) return Answer(info, -EINVAL);
  return Answer(info, Retry([&] { return waitpid(pid, nullptr, WNOHANG); }));
}

// A descriptor of the process that has this pid now, whatever the pid stands for later: pidfd_open(2). It is
// CLOEXEC. Or -errno: ESRCH, ENOSYS before Linux 5.3.
Napi::Value PidfdOpen(const Napi::CallbackInfo& info) {
  int pid = NumberAt(info, 0, 0);
  // 0 and below are EINVAL to the kernel as well; not left to a filter that stands in for it.
  if (pid <= 0) return Answer(info, -EINVAL);
  return Answer(info, Retry([&] { return syscall(SYS_pidfd_open, pid, 0); }));
}

// pidfd_send_signal(2), of no group and with kill(2)'s information. 0 or -errno; ESRCH once the process has
// been waited for.
Napi::Value PidfdSend(const Napi::CallbackInfo& info) {
  int fd = NumberAt(info, 0, -1), signal = NumberAt(info, 1, 0);
  return Answer(info, Retry([&] { return syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0); }));
}

void PidfdClose(const Napi::CallbackInfo& info) {
  UniqueFd{NumberAt(info, 0, -1)};
}

// By the clock of field 22 of /proc/PID/stat. In a container /proc/uptime may be lxcfs's, and another's.
Napi::Value BootTime(const Napi::CallbackInfo& info) {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Napi::Number::New(info.Env(), 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * now.tv_nsec);
}

// Sets this process's soft limit of open files; what is started meanwhile has it, too.
Napi::Value LimitFiles(const Napi::CallbackInfo& info) {
  double soft = 0;
  napi_get_value_double(info.Env(), info[0], &soft);
  rlimit limit;
  bool set = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  limit.rlim_cur = static_cast<rlim_t>(soft);
  set = set && setrlimit(RLIMIT_NOFILE, &limit) == 0;
  return Answer(info, set ? 0 : -errno);
}

// Called once for each environment that loads the addon; nothing here or below is static.
Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Calls", DefineCalls(env));
  exports.Set("Fanotify", DefineFanotify(env));
  exports.Set("Queue", Queue::Define(env));
  exports.Set("Walker", DefineWalker(env));
  exports.Set("MountTable", DefineMountTable(env));
  // The questions that JavaScript asks the kernel without an object: see Addon in src/addon.ts.
  exports.Set("mountId", Napi::Function::New<MountId>(env, "mountId"));
  exports.Set("refusal", Napi::Function::New<Refusal>(env, "refusal"));
  exports.Set("reap", Napi::Function::New<Reap>(env, "reap"));
  exports.Set("pidfdOpen", Napi::Function::New<PidfdOpen>(env, "pidfdOpen"));
  exports.Set("pidfdSend", Napi::Function::New<PidfdSend>(env, "pidfdSend"));
  exports.Set("pidfdClose", Napi::Function::New<PidfdClose>(env, "pidfdClose"));
  exports.Set("bootTime", Napi::Function::New<BootTime>(env, "bootTime"));
  exports.Set("limitFiles", Napi::Function::New<LimitFiles>(env, "limitFiles"));
  return exports;
}

}  // namespace

NODE_API_MODULE(inotify_bridge, Init)
