#pragma once

#include <uv.h>

#include <atomic>

#include "base/unique_fd.h"
#include "queue/event_queue.h"

// A thread that reads an inotify fd only while the loop that should do so is stuck, so that the kernel's
// queue (16384 events by default: 60 ms of a busy writer) does not overflow during a garbage collection or a
// long callback.
//
// It sleeps in poll(2) while nothing happens: no wakeups when idle.
class QueueDrainer {
 public:
  // Called on the guard's thread when it has put events into the arena: the fd no longer tells the loop of
  // them.
  using Wake = void (*)(void*);

  QueueDrainer() = default;
  ~QueueDrainer() { Stop(); }
  QueueDrainer(const QueueDrainer&) = delete;
  QueueDrainer& operator=(const QueueDrainer&) = delete;

  // 0 or -errno.
  int Start(EventQueue* queue, Wake wake, void* argument);

  // Joins the thread. Idempotent.
  void Stop();

  // The loop has taken something out of the arena: a guard that found it full may go on.
  void SpaceFreed();

 private:
  static void Main(void* self);
  void Run();
  bool Sleep(int milliseconds);
  bool WaitUntilReadable();
  void LookOn();
  void StandIn();

  EventQueue* queue_ = nullptr;
  Wake wake_ = nullptr;
  void* argument_ = nullptr;
  UniqueFd kick_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> full_{false};
  bool running_ = false;
  uv_thread_t thread_;
};
