#pragma once

#include <napi.h>
#include <sys/fanotify.h>
#include <uv.h>

#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "fanotify/marked_mount.h"
#include "loop/callback.h"
#include "loop/loop_handle.h"
#include "loop/loop_object.h"

// Waits for events of whole file systems on the loop of its own environment: fanotify(7). JavaScript reads
// them, and may do so before the loop comes to it.
class FanotifyPoll : public LoopHandle {
 public:
  FanotifyPoll(Napi::Env env, Napi::Function on_readable);

  // 0 or -errno. After a failure Close() is still to be called.
  int Open();

  // Marks the file system of a directory, or marks it anew. 0 or -errno.
  int Add(const char* path);

  // An array of what one read(2) gives, empty if there is nothing; or -errno.
  Napi::Value Read();

  void Flow(bool flows) { uv_poll_start(&poll_, flows ? UV_READABLE : 0, OnReadable); }

 private:
  static constexpr size_t kReadBytes = 64 * 1024;

  ~FanotifyPoll() override = default;

  static void OnReadable(uv_poll_t* handle, int status, int events);

  void End() override;
  void Push(Napi::Array events, const fanotify_event_metadata& event, const char* directory,
            const char* name);

  Callback on_readable_;
  UniqueFd fd_;
  std::vector<std::unique_ptr<MarkedMount>> mounts_;
  uv_poll_t poll_;
  char path_[PATH_MAX + NAME_MAX + 2];
  alignas(FanDirectory) char records_[kReadBytes];
};

// The class that JavaScript sees (NativeFanotify in src/addon.ts).
class Fanotify : public LoopObject<Fanotify, FanotifyPoll> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit Fanotify(const Napi::CallbackInfo& info) : LoopObject(info) {}

 private:
  Napi::Value Add(const Napi::CallbackInfo& info);
  Napi::Value Read(const Napi::CallbackInfo& info);
  void Flow(const Napi::CallbackInfo& info);
};
