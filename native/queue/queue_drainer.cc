#include "queue/queue_drainer.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "threads/thread.h"

namespace {

// A loop that has not read from one look to the next, with events waiting at both, is stuck. The first look
// is so long after the last read that emptied the queue: each look wakes a thread, which costs as much as an
// event.
constexpr int kLookMs = 12;

// The alarm is put off no oftener than this, or a system call would come with each of many events: a look can
// be so much early.
constexpr uint64_t kPutOffNs = 4 * 1000 * 1000;

// More than a read's worth waiting is a loop that is behind, whatever there was at the look before. At 280k
// events/s (one busy writer) that is 7 ms, and the kernel's default queue holds 58.
constexpr int kBehindBytes = static_cast<int>(kReadBytes);

// So many looks that found nothing to do, and nothing done, are the end of the looking: 0.1 s.
constexpr int kIdleLooks = 8;

// Between two reads in the loop's stead: short, because several writers fill a queue in far less than
// kLookMs.
constexpr int kStandInMs = 2;

constexpr int kForEver = -1;

}  // namespace

int QueueDrainer::Start(EventQueue* queue, Wake wake, void* argument) {
  queue_ = queue;
  wake_ = wake;
  argument_ = argument;
  kick_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!kick_.is_open()) return -errno;
  alarm_.reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!alarm_.is_open()) return -errno;

  int error = StartThread(&thread_, Main, this);
  running_ = error == 0;
  return error;
}

void QueueDrainer::Stop() {
  if (!running_) return;
  running_ = false;
  stopping_.store(true);
  eventfd_write(kick_.get(), 1);
  uv_thread_join(&thread_);
}

void QueueDrainer::SpaceFreed() {
  if (full_.exchange(false)) eventfd_write(kick_.get(), 1);
}

void QueueDrainer::Emptied() {
  if (!looking_.load(std::memory_order_relaxed)) return;
  uint64_t now = uv_hrtime();
  if (now - put_off_at_ns_ < kPutOffNs) return;
  put_off_at_ns_ = now;
  SetAlarm();
}

void QueueDrainer::Main(void* self) {
  // A thread's own niceness (setpriority(2), "C library/kernel differences"). Needs CAP_SYS_NICE or
  // RLIMIT_NICE, and does without: among four busy processes on two cores, waits of more than 40 ms became
  // four times as rare.
  setpriority(PRIO_PROCESS, 0, -20);
  static_cast<QueueDrainer*>(self)->Run();
}

void QueueDrainer::Run() {
  while (WaitUntilReadable()) {
    looking_.store(true, std::memory_order_relaxed);
    LookOn();
    looking_.store(false, std::memory_order_relaxed);
  }
}

// A thread that waits for the fd is woken by each event, as the loop is, and by its priority before it: of
// lone events, which are what is waited for, each came a third later. So it looks by the clock while
// something goes on, and not at all while the loop keeps the queue empty.
void QueueDrainer::LookOn() {
  uint32_t before = queue_->reads();
  bool was_waiting = true;
  for (int idle = 0; idle < kIdleLooks; idle++) {
    SetAlarm();
    if (!Wait(alarm_.get(), kForEver)) return;
    uint32_t reads = queue_->reads();
    int waiting = queue_->Waiting();
    bool is_waiting = waiting > 0;
    bool is_stuck = is_waiting && was_waiting && reads == before;
    if (is_stuck || waiting > kBehindBytes) {
      StandIn();
      reads = queue_->reads();
      is_waiting = false;
    }
    if (is_waiting || reads != before) idle = 0;
    before = reads;
    was_waiting = is_waiting;
  }
}

void QueueDrainer::StandIn() {
  uint32_t before = queue_->reads();
  do {
    bool has_room = queue_->DrainIntoArena();
    wake_(argument_);
    if (!has_room) {
      // From here on the kernel's queue fills, and its own IN_Q_OVERFLOW says what is lost.
      full_.store(true);
      // The loop may have made room between the drain and this store, when SpaceFreed had nobody to wake.
      if (queue_->reads() == before) Wait(-1, kForEver);
      full_.store(false);
      return;
    }
    if (!WaitUntilReadable() || !Wait(-1, kStandInMs)) return;
  } while (queue_->reads() == before);
}

// Either thread. An error (timerfd_create(2) knows none for a valid fd and time) leaves the look to the one
// alarm that is set already.
void QueueDrainer::SetAlarm() {
  itimerspec in = {{0, 0}, {0, kLookMs * 1000 * 1000}};
  timerfd_settime(alarm_.get(), 0, &in, nullptr);
}

// Waits for a descriptor (-1: none), for no longer than so many ms, and no longer than until a kick. False
// when the thread is to end. `readable`: whether it is the descriptor that has ended the wait.
bool QueueDrainer::Wait(int fd, int milliseconds, bool* readable) {
  if (stopping_.load()) return false;
  pollfd fds[] = {{fd, POLLIN, 0}, {kick_.get(), POLLIN, 0}};
  // poll(2) is never restarted after a handler (signal(7)), and glibc's own runs here at each setuid(2): that
  // only ends a wait early, which every caller can take.
  if (poll(fds, 2, milliseconds) < 0 && errno != EINTR) return false;
  if (fds[1].revents != 0) {
    eventfd_t ignored;
    eventfd_read(kick_.get(), &ignored);
  }
  if (readable != nullptr) *readable = fds[0].revents != 0;
  return !stopping_.load();
}

// True when there is something to read, false when the thread is to end.
bool QueueDrainer::WaitUntilReadable() {
  bool readable = false;
  while (Wait(queue_->fd(), kForEver, &readable))
    if (readable) return true;
  return false;
}
