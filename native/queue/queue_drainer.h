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

  // Loop's thread, at each read that left nothing behind: as long as these come, the guard need not look.
  void Emptied();

 private:
  static void Main(void* self);
  void Run();
  void SetAlarm();
  bool Wait(int fd, int milliseconds, bool* readable = nullptr);
  bool WaitUntilReadable();
  void LookOn();
  void StandIn();

  EventQueue* queue_ = nullptr;
  Wake wake_ = nullptr;
  void* argument_ = nullptr;
  UniqueFd kick_;
  UniqueFd alarm_;
  // The loop's alone: uv_hrtime() of when it last put the alarm off.
  uint64_t put_off_at_ns_ = 0;
  std::atomic<bool> looking_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> full_{false};
  bool running_ = false;
  uv_thread_t thread_;
};
