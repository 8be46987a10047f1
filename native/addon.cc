#include <napi.h>

#include "base/mount_id.h"
#include "base/path.h"
#include "base/unique_fd.h"
#include "loop/mount_table.h"
#include "loop/pidfd.h"
#include "loop/reap.h"
#include "queue/queue.h"
#include "syscalls/calls.h"
#include "walker/walker.h"

namespace {

Napi::Value MountIdOf(const Napi::CallbackInfo& info) {
  Path path(info[0]);
  int64_t id = path.error() != 0 ? path.error() : MountId(path.c_str());
  return Napi::Number::New(info.Env(), static_cast<double>(id));
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

// Called once for each environment that loads the addon; nothing here or below is static.
Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Calls", Calls::Define(env));
  exports.Set("Queue", Queue::Define(env));
  exports.Set("Walker", Walker::Define(env));
  exports.Set("MountTable", MountTable::Define(env));
  exports.Set("mountId", Napi::Function::New<MountIdOf>(env, "mountId"));
  exports.Set("reap", Napi::Function::New<ReapChild>(env, "reap"));
  exports.Set("pidfdOpen", Napi::Function::New<OpenPidfd>(env, "pidfdOpen"));
  exports.Set("pidfdSend", Napi::Function::New<SendToPidfd>(env, "pidfdSend"));
  exports.Set("pidfdClose", Napi::Function::New<ClosePidfd>(env, "pidfdClose"));
  return exports;
}

}  // namespace

NODE_API_MODULE(inotify_bridge, Init)
