#include <sys/fanotify.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/path.h"
#include "base/retry.h"
#include "fanotify/marked_mount.h"
#include "loop/classes.h"
#include "loop/fd_poll.h"
#include "loop/loop_object.h"

namespace {

constexpr size_t kReadBytes = 64 * 1024;

// JavaScript reads the events, and may do so before the loop comes to it.
class FanotifyPoll : public FdPoll {
 public:
  FanotifyPoll(Napi::Env env, Napi::Function on_readable) : FdPoll(env, on_readable, "Fanotify") {}

  // 0 or -errno. After a failure Close() is still to be called.
  int Open() {
    // FAN_REPORT_DIR_FID | FAN_REPORT_NAME (Linux 5.9), which older headers do not have.
    constexpr unsigned kNames = 0x400 | 0x800;
    constexpr unsigned kFlags = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | kNames;
    return Watch(static_cast<int>(Retry([] { return fanotify_init(kFlags, O_RDONLY); })), UV_READABLE);
  }

  // Marks the file system of a directory, or marks it anew. 0 or -errno.
  int Add(const char* path) {
    auto mount = std::make_unique<MarkedMount>(path);
    int error = mount->Mark(fd());
    if (error < 0) return error;
    auto is_same = [&](auto& each) { return each->is_same(*mount); };
    mounts_.erase(std::remove_if(mounts_.begin(), mounts_.end(), is_same), mounts_.end());
    mounts_.push_back(std::move(mount));
    return 0;
  }

  // An array of what one read(2) gives, empty if there is nothing; or -errno.
  Napi::Value Read() {
    int64_t bytes = Retry([&] { return read(fd(), records_, sizeof records_); });
    if (bytes < 0 && bytes != -EAGAIN) return Napi::Number::New(env(), static_cast<double>(bytes));
    auto events = Napi::Array::New(env());
    fanotify_event_metadata event;
    for (int64_t at = 0; at < bytes; at += event.event_len) {
      memcpy(&event, records_ + at, sizeof event);
      // Behind it are a type, padding and a length, struct fanotify_event_info_header of newer headers; then
      // the directory, and a name. An overflow has none of that, nor has what has no name any more.
      const char* info = records_ + at + sizeof event + 4;
      const char* end = records_ + at + event.event_len;
      const auto* directory = reinterpret_cast<const FanDirectory*>(info);
      bool has_path = false;
      for (size_t i = 0; info < end && i < mounts_.size(); i++) {
        const char* path = mounts_[i]->Find(*directory);
        const char* name = info + directory->size();
        if (path != nullptr) Push(events, event, path, name < end ? name : "");
        has_path = has_path || path != nullptr;
      }
      if (!has_path) Push(events, event, nullptr, "");
    }
    for (auto& mount : mounts_) mount->Release();
    return events;
  }

 private:
  void Push(Napi::Array events, const fanotify_event_metadata& event, const char* directory,
            const char* name) {
    Napi::HandleScope scope(env());
    auto object = Napi::Object::New(env());
    object.Set("mask", Napi::Number::New(env(), static_cast<double>(event.mask)));
    object.Set("pid", Napi::Number::New(env(), event.pid));
    if (directory != nullptr) {
      // The directory itself is '.' to the kernel.
      bool is_own = *name == '\0' || strcmp(name, ".") == 0;
      const char* slash = is_own || strcmp(directory, "/") == 0 ? "" : "/";
      int length = snprintf(path_, sizeof path_, "%s%s%s", directory, slash, is_own ? "" : name);
      napi_value path;
      if (napi_create_string_latin1(env(), path_, length, &path) == napi_ok) object.Set("path", path);
    }
    events.Set(events.Length(), object);
  }

  std::vector<std::unique_ptr<MarkedMount>> mounts_;
  char path_[PATH_MAX + NAME_MAX + 2];
  alignas(FanDirectory) char records_[kReadBytes];
};

class Fanotify : public LoopObject<Fanotify, FanotifyPoll> {
 public:
  explicit Fanotify(const Napi::CallbackInfo& info) : LoopObject(info) {}

  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Fanotify",
                       {
                           InstanceMethod("open", &Fanotify::Open),
                           InstanceMethod<&Fanotify::Add>("add"),
                           InstanceMethod<&Fanotify::Read>("read"),
                           InstanceMethod<&Fanotify::Flow>("flow"),
                           InstanceMethod("unref", &Fanotify::Unref),
                           InstanceMethod("close", &Fanotify::Close),
                       });
  }

 private:
  Napi::Value Add(const Napi::CallbackInfo& info) {
    Path path(info[0]);
    int error = handle_ == nullptr ? -EBADF : path.error();
    return Napi::Number::New(info.Env(), error == 0 ? handle_->Add(path.c_str()) : error);
  }

  Napi::Value Read(const Napi::CallbackInfo& info) {
    return handle_ != nullptr ? handle_->Read() : Napi::Number::New(info.Env(), -EBADF);
  }

  void Flow(const Napi::CallbackInfo& info) {
    if (handle_ != nullptr) handle_->Await(info[0].ToBoolean() ? UV_READABLE : 0);
  }
};

}  // namespace

Napi::Function DefineFanotify(Napi::Env env) {
  return Fanotify::Define(env);
}
