#include <fcntl.h>
#include <poll.h>

#include "base/statx.h"
#include "loop/classes.h"
#include "loop/fd_poll.h"
#include "loop/loop_object.h"

namespace {

// The kernel compares the table with what it last told this very fd of, so there is nothing to be read to
// calm it.
class MountPoll : public FdPoll {
 public:
  MountPoll(Napi::Env env, Napi::Function on_change) : FdPoll(env, on_change, "MountTable") {}

  // 0 or -errno. After a failure Close() is still to be called.
  int Open() {
    // Not UV_READABLE: it always is.
    return Watch(OpenAt(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY), UV_PRIORITIZED);
  }

  // Takes the news that OnEvent would have got at the loop's next poll.
  bool HasChanged() const {
    pollfd table = {fd(), POLLPRI, 0};
    // An error counts as news: the table is read then.
    return poll(&table, 1, 0) != 0;
  }
};

class MountTable : public LoopObject<MountTable, MountPoll> {
 public:
  explicit MountTable(const Napi::CallbackInfo& info) : LoopObject(info) {}

  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "MountTable",
                       {
                           InstanceMethod("open", &MountTable::Open),
                           InstanceMethod<&MountTable::HasChanged>("hasChanged"),
                           InstanceMethod("ref", &MountTable::Ref),
                           InstanceMethod("unref", &MountTable::Unref),
                           InstanceMethod("close", &MountTable::Close),
                       });
  }

 private:
  Napi::Value HasChanged(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), handle_ != nullptr && handle_->HasChanged());
  }
};

}  // namespace

Napi::Function DefineMountTable(Napi::Env env) {
  return MountTable::Define(env);
}
