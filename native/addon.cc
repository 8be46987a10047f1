#include <errno.h>
#include <napi.h>
#include <sys/resource.h>
#include <time.h>

#include "base/mount_id.h"
#include "base/path.h"
#include "base/unique_fd.h"
#include "loop/mount_table.h"
#include "loop/pidfd.h"
#include "loop/reap.h"
#include "queue/queue.h"
#include "queue/refusal.h"
#include "syscalls/calls.h"
#include "walker/walker.h"

namespace {

Napi::Value MountIdOf(const Napi::CallbackInfo& info) {
  Path path(info[0]);
  int64_t id = path.error() != 0 ? path.error() : MountId(path.c_str());
  return Napi::Number::New(info.Env(), static_cast<double>(id));
}

Napi::Value RefusalOfInotify(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), Refusal());
}

Napi::Value ReapChild(const Napi::CallbackInfo& info) {
  int32_t pid = 0;
  napi_get_value_int32(info.Env(), info[0], &pid);
  return Napi::Number::New(info.Env(), Reap(pid));
}

Napi::Value OpenPidfd(const Napi::CallbackInfo& info) {
  int32_t pid = 0;
  napi_get_value_int32(info.Env(), info[0], &pid);
  return Napi::Number::New(info.Env(), PidfdOpen(pid));
}

Napi::Value SendToPidfd(const Napi::CallbackInfo& info) {
  int32_t fd = -1;
  int32_t signal = 0;
  napi_get_value_int32(info.Env(), info[0], &fd);
  napi_get_value_int32(info.Env(), info[1], &signal);
  return Napi::Number::New(info.Env(), PidfdSend(fd, signal));
}

void ClosePidfd(const Napi::CallbackInfo& info) {
  int32_t fd = -1;
  napi_get_value_int32(info.Env(), info[0], &fd);
  UniqueFd{fd};
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
  return Napi::Number::New(info.Env(), set ? 0 : -errno);
}

// Called once for each environment that loads the addon; nothing here or below is static.
Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Calls", Calls::Define(env));
  exports.Set("Queue", Queue::Define(env));
  exports.Set("Walker", Walker::Define(env));
  exports.Set("MountTable", MountTable::Define(env));
  exports.Set("mountId", Napi::Function::New<MountIdOf>(env, "mountId"));
  exports.Set("refusal", Napi::Function::New<RefusalOfInotify>(env, "refusal"));
  exports.Set("bootTime", Napi::Function::New<BootTime>(env, "bootTime"));
  exports.Set("limitFiles", Napi::Function::New<LimitFiles>(env, "limitFiles"));
  exports.Set("reap", Napi::Function::New<ReapChild>(env, "reap"));
  exports.Set("pidfdOpen", Napi::Function::New<OpenPidfd>(env, "pidfdOpen"));
  exports.Set("pidfdSend", Napi::Function::New<SendToPidfd>(env, "pidfdSend"));
  exports.Set("pidfdClose", Napi::Function::New<ClosePidfd>(env, "pidfdClose"));
  return exports;
}

}  // namespace

NODE_API_MODULE(inotify_bridge, Init)
