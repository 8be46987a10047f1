#include <errno.h>

#include <cstdlib>
#include <cstring>

#include "loop/callback.h"
#include "loop/classes.h"
#include "loop/loop_handle.h"
#include "loop/loop_object.h"
#include "syscalls/call_thread.h"

namespace {

// A string (as UTF-8) or the bytes of a Buffer, with a zero behind them; null stays null. 0 or -errno.
int CopyText(const Napi::Value& value, char** text, size_t* length) {
  if (value.IsNull() || value.IsUndefined()) return 0;
  const bool is_buffer = value.IsBuffer();
  size_t size = 0;
  if (is_buffer) {
    size = value.As<Napi::Buffer<char>>().Length();
  } else if (napi_get_value_string_utf8(value.Env(), value, nullptr, 0, &size) != napi_ok) {
    return -EINVAL;
  }
  *text = static_cast<char*>(malloc(size + 1));
  if (*text == nullptr) return -ENOMEM;
  if (is_buffer) {
    // An empty one has no memory.
    if (size > 0) memcpy(*text, value.As<Napi::Buffer<char>>().Data(), size);
  } else {
    napi_get_value_string_utf8(value.Env(), value, *text, size + 1, &size);
  }
  (*text)[size] = '\0';
  *length = size;
  return 0;
}

bool IsReadable(int64_t bytes) {
  return bytes >= 0 && bytes <= Call::kLongestRead;
}

// Returns true if the call has the texts that its kind reads, and asks for no more bytes than may be.
bool HasWhatItNeeds(const Call& call) {
  switch (call.kind) {
    case Call::Kind::kClose:
    case Call::Kind::kFileSystem:
    case Call::Kind::kNames:
    case Call::Kind::kChangeMode:
    case Call::Kind::kChangeOwner:
    case Call::Kind::kSync:
    case Call::Kind::kLock:
    case Call::Kind::kCopyTimes:
      return true;
    case Call::Kind::kRead:
      return IsReadable(call.numbers[1]);
    case Call::Kind::kOpenRegular:
      return call.texts[0] != nullptr && IsReadable(call.numbers[1]);
    case Call::Kind::kSymlink:
    case Call::Kind::kLink:
    case Call::Kind::kRename:
      return call.texts[0] != nullptr && call.texts[1] != nullptr;
    default:
      return call.texts[0] != nullptr;
  }
}

// From (id, kind, number, number, number, text, text). 0 or -errno.
int ReadCall(const Napi::CallbackInfo& info, Call* call) {
  constexpr size_t kNumbers = 3;
  for (size_t i = 0; i < 2 + kNumbers; i++)
    if (!info[i].IsNumber()) return -EINVAL;
  uint32_t kind = info[1].As<Napi::Number>().Uint32Value();
  if (kind >= Call::kKinds) return -EINVAL;
  call->id = info[0].As<Napi::Number>().Uint32Value();
  call->kind = static_cast<Call::Kind>(kind);
  for (size_t i = 0; i < kNumbers; i++) call->numbers[i] = info[2 + i].As<Napi::Number>().Int64Value();
  for (size_t i = 0; i < 2; i++) {
    int error = CopyText(info[2 + kNumbers + i], &call->texts[i], &call->lengths[i]);
    if (error < 0) return error;
  }
  return HasWhatItNeeds(*call) ? 0 : -EINVAL;
}

// The loop's side of a CallThread: hands what is done to JavaScript on the loop of its own environment.
class CallDelivery : public LoopHandle {
 public:
  CallDelivery(Napi::Env env, Napi::Function on_done) : LoopHandle(env), on_done_(on_done, "Calls") {}

  // 0 or -errno. After a failure Close() is still to be called.
  int Open() {
    uv_loop_t* loop;
    int error = Attach(&loop);
    if (error == 0) error = uv_async_init(loop, &wake_, OnWake);
    if (error < 0) return error;
    Adopt(&wake_);
    SetPersistent(false);
    thread_ = new CallThread(&wake_);
    return 0;
  }

  int Push(Call* call) { return thread_->Push(call); }

 private:
  ~CallDelivery() override = default;

  static void OnWake(uv_async_t* handle) { OwnerOf<CallDelivery>(handle)->Deliver(); }

  // A callback may close this delivery, or throw; the object itself outlives the turn in any case, since
  // libuv closes handles at its end.
  void Deliver() {
    if (thread_ == nullptr) return;
    for (Call* call = thread_->Take(); call != nullptr;) {
      if (!is_closing()) Tell(*call);
      Call* next = call->next;
      delete call;
      call = next;
    }
  }

  // Plain N-API, for its statuses: see callback.h.
  void Tell(const Call& call) {
    Napi::HandleScope scope(env());
    napi_value arguments[3];
    bool made =
        napi_create_uint32(env(), call.id, &arguments[0]) == napi_ok &&
        napi_create_int64(env(), call.result, &arguments[1]) == napi_ok &&
        napi_create_buffer_copy(env(), call.data.size(), call.data.data(), nullptr, &arguments[2]) == napi_ok;
    // Unmade for want of memory: not in silence.
    made ? on_done_.Call(3, arguments) : RaiseUncaught(env());
  }

  void End() override {
    on_done_.Reset();
    if (thread_ != nullptr) thread_->Abandon();
    thread_ = nullptr;
    CloseHandles();
  }

  Callback on_done_;
  uv_async_t wake_;
  // Null before Open() and once abandoned.
  CallThread* thread_ = nullptr;
};

class Calls : public LoopObject<Calls, CallDelivery> {
 public:
  explicit Calls(const Napi::CallbackInfo& info) : LoopObject(info) {}

  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Calls",
                       {
                           InstanceMethod("open", &Calls::Open),
                           InstanceMethod<&Calls::Push>("push"),
                           InstanceMethod("ref", &Calls::Ref),
                           InstanceMethod("unref", &Calls::Unref),
                           InstanceMethod("close", &Calls::Close),
                       });
  }

 private:
  Napi::Value Push(const Napi::CallbackInfo& info) {
    if (handle_ == nullptr) return Napi::Number::New(info.Env(), -EBADF);
    auto* call = new Call();
    int error = ReadCall(info, call);
    if (error == 0) error = handle_->Push(call);
    if (error < 0) delete call;
    return Napi::Number::New(info.Env(), error);
  }
};

}  // namespace

Napi::Function DefineCalls(Napi::Env env) {
  return Calls::Define(env);
}
