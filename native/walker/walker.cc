#include <errno.h>

#include "loop/callback.h"
#include "loop/classes.h"
#include "loop/loop_handle.h"
#include "queue/queue.h"
#include "walker/walk.h"

namespace {

// Blocks in one turn of the loop: timers and sockets should not starve during a long walk.
constexpr int kBlocksPerTurn = 4;

// The loop's side of one walk: hands its records to JavaScript on the loop of its own environment, and keeps
// that loop alive until the last of them, if it is not repeated.
class Delivery : public LoopHandle {
 public:
  // `owner`: the owner's pointer to this object, which is set to null when the walk is over or this object
  // closed, before the last call of the callback.
  Delivery(Napi::Env env, Napi::Function on_records, Delivery** owner)
      : LoopHandle(env), on_records_(on_records, "Walker"), owner_(owner) {}

  // 0 or -errno. After a failure Close() is still to be called.
  int Start(const uint8_t* requests, size_t bytes, int queue, uint32_t mask, DigestCache* memory,
            WalkThreads* threads, const Walk::Repeat& repeat) {
    uv_loop_t* loop;
    int error = Attach(&loop);
    if (error == 0) error = uv_async_init(loop, &wake_, OnWake);
    if (error < 0) return error;
    Adopt(&wake_);
    walk_ = new Walk(&wake_, memory, threads);
    if (repeat.most > 0) SetPersistent(false);
    return walk_->Start(requests, bytes, queue, mask, repeat);
  }

  void Cancel() { walk_->Cancel(); }

  // Waits for the end of the walk, but no longer than so many ms, and makes the calls of the callback that
  // come until then.
  void Finish(double patience) {
    // Beyond a day it is as good as for ever.
    constexpr double kMost = 86'400'000;
    uint64_t until = uv_hrtime() + static_cast<uint64_t>((patience < kMost ? patience : kMost) * 1e6);
    while (walk_ != nullptr && walk_->AwaitUntil(until)) {
      bool over;
      Block* block = walk_->Take(&over);
      if (block != nullptr || over) Call(block, over);
    }
  }

  // The owner is gone.
  void Disown() { owner_ = nullptr; }

 private:
  ~Delivery() override = default;

  static void OnWake(uv_async_t* handle) { OwnerOf<Delivery>(handle)->Deliver(); }

  // A callback may close this delivery, or throw; the object itself outlives the turn in any case, since
  // libuv closes handles at its end.
  void Deliver() {
    for (int turn = 0; walk_ != nullptr; turn++) {
      if (turn == kBlocksPerTurn) {
        uv_async_send(&wake_);
        return;
      }
      bool over;
      Block* block = walk_->Take(&over);
      if (block == nullptr && !over) return;
      Call(block, over);
    }
  }

  // Plain N-API, for its statuses: see callback.h.
  void Call(Block* block, bool over) {
    Napi::HandleScope scope(env());
    napi_value arguments[2];
    const void* data = block != nullptr ? block->data() : nullptr;
    size_t bytes = block != nullptr ? block->used : 0;
    bool made = napi_create_buffer_copy(env(), bytes, data, nullptr, &arguments[0]) == napi_ok &&
                napi_get_boolean(env(), over, &arguments[1]) == napi_ok;
    if (block != nullptr) walk_->GiveBack(block);
    // Before the call: it may begin another walk.
    if (over) Close();
    // Unmade for want of memory: not in silence.
    made ? on_records_.Call(2, arguments) : RaiseUncaught(env());
    if (is_closing()) on_records_.Reset();
  }

  void End() override {
    // The owner may be gone by the time that libuv lets go, or have another walk.
    if (owner_ != nullptr) *owner_ = nullptr;
    owner_ = nullptr;
    if (walk_ != nullptr) walk_->Abandon();
    walk_ = nullptr;
    CloseHandles();
  }

  Callback on_records_;
  Delivery** owner_;
  uv_async_t wake_;
  // Null once abandoned.
  Walk* walk_ = nullptr;
};

class Walker : public Napi::ObjectWrap<Walker> {
 public:
  static Napi::Function Define(Napi::Env env) {
    auto* threads = new WalkThreads();
    env.AddCleanupHook([](WalkThreads* all) { all->Release(); }, threads);
    return DefineClass(env, "Walker",
                       {
                           InstanceMethod<&Walker::Walk>("walk"),
                           InstanceMethod<&Walker::Finish>("finish"),
                           InstanceMethod<&Walker::Cancel>("cancel"),
                           InstanceMethod<&Walker::Commit>("commit"),
                           InstanceMethod<&Walker::Forget>("forget"),
                           InstanceMethod<&Walker::Took>("took"),
                           InstanceMethod<&Walker::Close>("close"),
                       },
                       threads);
  }

  explicit Walker(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<Walker>(info), threads_(static_cast<WalkThreads*>(info.Data())->Share()) {
    threads_->Enter();
  }

  ~Walker() {
    if (walk_ != nullptr) walk_->Disown();
    memory_->Release();
    if (!closed_) threads_->Leave();
    threads_->Release();
  }

 private:
  Napi::Value Walk(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), Start(info)); }

  int Start(const Napi::CallbackInfo& info) {
    if (closed_) return -EBADF;
    if (walk_ != nullptr) return -EBUSY;
    int queue = info[0].IsNull() ? -1 : Queue::FdOf(info[0]);
    if (queue < 0 && !info[0].IsNull()) return queue;
    if (!info[1].IsNumber() || !info[2].IsBuffer() || !info[3].IsFunction()) return -EINVAL;
    auto requests = info[2].As<Napi::Buffer<uint8_t>>();
    walk_ = new Delivery(info.Env(), info[3].As<Napi::Function>(), &walk_);
    uint32_t mask = info[1].As<Napi::Number>().Uint32Value();
    ::Walk::Repeat repeat;
    if (info[4].IsNumber() && info[5].IsNumber()) {
      repeat.first = info[4].As<Napi::Number>().Uint32Value();
      repeat.most = info[5].As<Napi::Number>().Uint32Value();
    }
    int error = walk_->Start(requests.Data(), requests.Length(), queue, mask, memory_, threads_, repeat);
    if (error == 0) return 0;
    walk_->Close();
    return error;
  }

  Napi::Value Finish(const Napi::CallbackInfo& info) {
    double patience = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : 0;
    // Not so for what is no number, either.
    if (walk_ != nullptr && patience > 0) walk_->Finish(patience);
    return Napi::Boolean::New(info.Env(), walk_ == nullptr);
  }

  void Cancel(const Napi::CallbackInfo&) {
    if (walk_ != nullptr) walk_->Cancel();
  }

  // Not while a walk reads what is known. A thread that was left behind reads it after close(), when there is
  // no more of this.
  Napi::Value Commit(const Napi::CallbackInfo& info) {
    bool may = walk_ == nullptr && !closed_;
    if (may) memory_->Commit();
    return Napi::Number::New(info.Env(), may ? 0 : -EBUSY);
  }

  Napi::Value Forget(const Napi::CallbackInfo& info) {
    bool may = walk_ == nullptr && !closed_;
    if (may) memory_->Forget();
    return Napi::Number::New(info.Env(), may ? 0 : -EBUSY);
  }

  Napi::Value Took(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(memory_->took()) / 1e6);
  }

  void Close(const Napi::CallbackInfo&) {
    if (!closed_) threads_->Leave();
    closed_ = true;
    if (walk_ != nullptr) walk_->Close();
  }

  // Null while there is no walk. It frees itself.
  Delivery* walk_ = nullptr;
  DigestCache* memory_ = new DigestCache();
  WalkThreads* threads_;
  bool closed_ = false;
};

}  // namespace

Napi::Function DefineWalker(Napi::Env env) {
  return Walker::Define(env);
}
