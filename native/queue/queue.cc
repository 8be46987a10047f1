#include "queue/queue.h"

#include <errno.h>
#include <sys/inotify.h>

#include <cstring>

#include "base/path.h"
#include "base/retry.h"

namespace {

// Batches in one turn of the loop: after a long block 64 MiB may be waiting, and timers and sockets should
// not starve.
constexpr int kBatchesPerTurn = 16;

// Events in a window, below which the next are not waited for: a timer that brings one event has cost as much
// as the wakeup that it saved, and the event has waited for it.
constexpr size_t kWorthWaiting = 2;

// The tag that tells a Queue from any other object: random, as napi_type_tag_object asks.
constexpr napi_type_tag kQueueTag = {0x9c1f3be24d7a4e06, 0xb38e5d60f2a7c914};

}  // namespace

Stream::Stream(Napi::Env env, const Options& options, Napi::Function on_event, Napi::Function on_batch,
               Napi::Function on_error)
    : LoopHandle(env),
      options_(options),
      on_event_(on_event, "Inotify"),
      on_batch_(on_batch, "Inotify"),
      on_error_(on_error, "Inotify") {}

int Stream::Open() {
  uv_loop_t* loop;
  int error = Attach(&loop);
  if (error < 0) return error;
  error = queue_.Open(options_.arena_bytes);
  if (error < 0) return error;

  error = uv_async_init(loop, &wake_, OnWake);
  if (error < 0) return error;
  Adopt(&wake_);
  error = uv_poll_init(loop, &poll_, queue_.fd());
  if (error < 0) return error;
  Adopt(&poll_);
  uv_timer_init(loop, &timer_);
  Adopt(&timer_);
  SetPersistent(options_.persistent);

  // Nowhere to put what it takes.
  if (options_.arena_bytes == 0) return 0;
  return guard_.Start(&queue_, [](void* wake) { uv_async_send(static_cast<uv_async_t*>(wake)); }, &wake_);
}

void Stream::Resume() {
  if (flowing_) return;
  flowing_ = true;
  Poll();
  // Records that the guard took in the meantime no longer make the fd readable.
  if (flowing_) uv_async_send(&wake_);
}

void Stream::Poll() {
  int error = uv_poll_start(&poll_, UV_READABLE, OnReadable);
  if (error < 0) Fail(error);
}

void Stream::Fail(int error) {
  Pause();
  CallError(error);
}

int Stream::Mark() {
  int mark = queue_.Mark();
  // With nothing queued, nothing makes the fd readable.
  if (mark < kNoMark) uv_async_send(&wake_);
  return mark;
}

void Stream::Pause() {
  flowing_ = false;
  uv_poll_stop(&poll_);
  uv_timer_stop(&timer_);
}

void Stream::OnReadable(uv_poll_t* handle, int status, int) {
  auto* stream = OwnerOf<Stream>(handle);
  if (status < 0) return stream->Fail(status);
  uint64_t window = stream->options_.window_ms;
  uint64_t now = uv_hrtime();
  bool again_so_soon = now - stream->last_delivery_ns_ < window * 1000 * 1000 / kWorthWaiting;
  stream->last_delivery_ns_ = now;
  stream->Deliver();
  // The callback may have paused or closed this stream.
  if (again_so_soon && stream->flowing_) {
    uv_poll_stop(&stream->poll_);
    uv_timer_start(&stream->timer_, OnWindow, window, window);
  }
}

void Stream::OnWindow(uv_timer_t* handle) {
  auto* stream = OwnerOf<Stream>(handle);
  size_t delivered = stream->Deliver();
  if (delivered >= kWorthWaiting || !stream->flowing_) return;
  uv_timer_stop(handle);
  stream->last_delivery_ns_ = 0;
  stream->Poll();
}

void Stream::OnWake(uv_async_t* handle) {
  auto* stream = OwnerOf<Stream>(handle);
  // In a window the timer delivers, and the guard, which takes over when the window is longer than its
  // patience, is no reason to be early.
  bool in_window = uv_is_active(reinterpret_cast<uv_handle_t*>(&stream->timer_)) != 0;
  if (stream->flowing_ && (stream->more_ || !in_window)) stream->Deliver();
}

// Returns the number of events to deliver, marks included. A callback may pause or close this stream, or
// throw; the object itself outlives the turn in any case, since libuv closes handles at its end.
size_t Stream::Deliver() {
  size_t delivered = 0;
  more_ = false;
  for (int turn = 0; flowing_; turn++) {
    if (turn == kBatchesPerTurn) {
      more_ = true;
      uv_async_send(&wake_);
      break;
    }
    int bytes = queue_.Next(&records_);
    guard_.SpaceFreed();
    PlacedMark marks[kMostMarks];
    size_t mark_count = bytes < 0 ? 0 : queue_.TakeMarks(records_, marks);
    if (bytes == 0 && mark_count == 0) break;
    if (bytes < 0) {
      Fail(bytes);
      break;
    }
    LoneEvent event;
    bool is_lone = mark_count == 0 && event.TakeOnly(records_.data(), records_.bytes());
    if (!is_lone) Pack(records_.data(), records_.bytes(), marks, mark_count, &batch_);
    delivered += is_lone ? 1 : batch_.count;
    // A read that left room has emptied the queue. Reading on until there is nothing would be a race against
    // the writer, in reads of a few events each: 45,000 where 1,700 do. What comes now makes the fd readable
    // again, or is the window's.
    bool emptied = records_.was_short();
    if (emptied) guard_.Emptied();
    is_lone ? CallEvent(event) : CallBatch();
    if (emptied) break;
  }
  return delivered;
}

// Plain N-API from here on, for its statuses: while a worker is being terminated any of these calls may fail,
// which is no error of anyone's, and the rest is then left undone.
void Stream::CallEvent(const LoneEvent& event) {
  Napi::HandleScope scope(env());
  napi_value arguments[5];
  if (napi_create_int32(env(), event.record->wd, &arguments[0]) != napi_ok) return;
  if (napi_create_uint32(env(), event.record->mask, &arguments[1]) != napi_ok) return;
  if (napi_create_uint32(env(), event.record->cookie, &arguments[2]) != napi_ok) return;
  if (napi_create_string_latin1(env(), event.record->name, event.length, &arguments[3]) != napi_ok) return;
  if (napi_get_boolean(env(), event.is_ascii, &arguments[4]) != napi_ok) return;
  on_event_.Call(5, arguments);
}

void Stream::CallBatch() {
  Napi::HandleScope scope(env());
  size_t size = batch_.count * kColumns * sizeof(int32_t);
  // A buffer a batch: a listener may keep the batch, and owns what it keeps.
  void* memory;
  napi_value buffer, rows, names;
  if (napi_create_arraybuffer(env(), size, &memory, &buffer) != napi_ok) return;
  memcpy(memory, batch_.rows, size);
  if (napi_create_typedarray(env(), napi_int32_array, batch_.count * kColumns, buffer, 0, &rows) != napi_ok)
    return;
  if (napi_create_array_with_length(env(), (batch_.count + kGroup - 1) / kGroup, &names) != napi_ok) return;
  const char* name = batch_.names;
  for (size_t first = 0; first < batch_.count; first += kGroup) {
    // latin1: a byte a character, so the exact bytes are always to be had, whatever their encoding.
    size_t length = batch_.GroupBytes(first);
    napi_value group;
    if (napi_create_string_latin1(env(), name, length, &group) != napi_ok) return;
    if (napi_set_element(env(), names, static_cast<uint32_t>(first / kGroup), group) != napi_ok) return;
    name += length;
  }
  napi_value arguments[] = {rows, names};
  on_batch_.Call(2, arguments);
}

void Stream::CallError(int error) {
  Napi::HandleScope scope(env());
  napi_value arguments[2];
  if (napi_create_int32(env(), -error, &arguments[0]) != napi_ok) return;
  if (napi_create_string_latin1(env(), "read", NAPI_AUTO_LENGTH, &arguments[1]) != napi_ok) return;
  on_error_.Call(2, arguments);
}

void Stream::End() {
  flowing_ = false;
  guard_.Stop();
  on_event_.Reset();
  on_batch_.Reset();
  on_error_.Reset();
  CloseHandles();
  // Now, and not when libuv lets go at the end of the turn: instances are few (128 a user by default).
  queue_.Close();
}

Napi::Function Queue::Define(Napi::Env env) {
  return DefineClass(env, "Queue",
                     {
                         InstanceMethod<&Queue::Open>("open"),
                         InstanceMethod<&Queue::Add>("add"),
                         InstanceMethod<&Queue::Remove>("remove"),
                         InstanceMethod<&Queue::Barrier>("barrier"),
                         InstanceMethod<&Queue::Fd>("fd"),
                         InstanceMethod<&Queue::Pause>("pause"),
                         InstanceMethod<&Queue::Resume>("resume"),
                         InstanceMethod("ref", &Queue::Ref),
                         InstanceMethod("unref", &Queue::Unref),
                         InstanceMethod("close", &Queue::Close),
                     });
}

Queue::Queue(const Napi::CallbackInfo& info) : LoopObject(info) {
  Value().TypeTag(&kQueueTag);
}

int Queue::FdOf(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kQueueTag)) return -EINVAL;
  // None while a worker is being terminated: from whichever moment on, each of these calls fails.
  Queue* queue = Unwrap(value.As<Napi::Object>());
  return queue != nullptr ? queue->fd() : -EBADF;
}

int Queue::fd() const {
  return handle_ != nullptr ? handle_->fd() : -EBADF;
}

Napi::Value Queue::Open(const Napi::CallbackInfo& info) {
  auto options = info[0].As<Napi::Object>();
  auto* stream =
      new Stream(info.Env(),
                 {
                     static_cast<uint64_t>(options.Get("batchWindow").ToNumber().Int64Value()),
                     static_cast<size_t>(options.Get("arenaBytes").ToNumber().Int64Value()),
                     options.Get("persistent").ToBoolean(),
                 },
                 info[1].As<Napi::Function>(), info[2].As<Napi::Function>(), info[3].As<Napi::Function>());
  return Napi::Number::New(info.Env(), OpenHandle(stream));
}

Napi::Value Queue::Add(const Napi::CallbackInfo& info) {
  Path path(info[0]);
  int64_t wd = handle_ == nullptr ? -EBADF : path.error();
  uint32_t mask = info[1].As<Napi::Number>().Uint32Value();
  // A path walk on a network mount may be interrupted.
  if (wd == 0) wd = Retry([&] { return inotify_add_watch(fd(), path.c_str(), mask); });
  return Napi::Number::New(info.Env(), static_cast<double>(wd));
}

Napi::Value Queue::Remove(const Napi::CallbackInfo& info) {
  // Without a descriptor the kernel says EBADF.
  int result = inotify_rm_watch(fd(), info[0].As<Napi::Number>().Int32Value());
  return Napi::Number::New(info.Env(), result < 0 ? -errno : 0);
}

Napi::Value Queue::Barrier(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), handle_ == nullptr ? -EBADF : handle_->Mark());
}

Napi::Value Queue::Fd(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), fd());
}

void Queue::Pause(const Napi::CallbackInfo&) {
  if (handle_ != nullptr) handle_->Pause();
}

void Queue::Resume(const Napi::CallbackInfo&) {
  if (handle_ != nullptr) handle_->Resume();
}
