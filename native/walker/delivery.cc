#include "walker/delivery.h"

namespace {

// Blocks in one turn of the loop: timers and sockets should not starve during a long walk.
constexpr int kBlocksPerTurn = 4;

}  // namespace

Delivery::Delivery(Napi::Env env, Napi::Function on_records, OnOver on_over, void* argument)
    : LoopHandle(env), on_records_(on_records, "Walker"), on_over_(on_over), argument_(argument) {}

int Delivery::Start(const uint8_t* requests, size_t bytes, int queue, uint32_t mask, DigestCache* memory,
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

void Delivery::OnWake(uv_async_t* handle) {
  OwnerOf<Delivery>(handle)->Deliver();
}

// A callback may close this delivery, or throw; the object itself outlives the turn in any case, since libuv
// closes handles at its end.
void Delivery::Deliver() {
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

void Delivery::Finish(double patience) {
  // Beyond a day it is as good as for ever.
  constexpr double kMost = 86'400'000;
  uint64_t until = uv_hrtime() + static_cast<uint64_t>((patience < kMost ? patience : kMost) * 1e6);
  while (walk_ != nullptr && walk_->AwaitUntil(until)) {
    bool over;
    Block* block = walk_->Take(&over);
    if (block != nullptr || over) Call(block, over);
  }
}

// Plain N-API, for its statuses: see callback.cc.
void Delivery::Call(Block* block, bool over) {
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

void Delivery::End() {
  // Once: whoever is told may be gone by the time that libuv lets go, or have another walk.
  if (on_over_ != nullptr) on_over_(argument_);
  on_over_ = nullptr;
  if (walk_ != nullptr) walk_->Abandon();
  walk_ = nullptr;
  CloseHandles();
}
