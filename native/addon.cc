#include <napi.h>

#include "functions.h"
#include "loop/mount_table.h"
#include "queue/queue.h"
#include "syscalls/calls.h"
#include "walker/walker.h"

namespace {

// Called once for each environment that loads the addon; nothing here or below is static.
Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Calls", Calls::Define(env));
  exports.Set("Queue", Queue::Define(env));
  exports.Set("Walker", Walker::Define(env));
  exports.Set("MountTable", MountTable::Define(env));
  DefineFunctions(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(inotify_bridge, Init)
