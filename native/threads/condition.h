#pragma once

#include <pthread.h>
#include <uv.h>

#include <cstdint>

// A condition that threads wait for, each under the lock that it gives up meanwhile. libuv's, by the
// monotonic clock: pthread_condattr_setclock itself is bound to GLIBC_2.34 when linked on a newer system.
class Condition {
 public:
  Condition() { uv_cond_init(&condition_); }
  ~Condition() { uv_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void WakeOne() { uv_cond_signal(&condition_); }
  void WakeAll() { uv_cond_broadcast(&condition_); }

  void Wait(pthread_mutex_t* lock) { uv_cond_wait(&condition_, lock); }

  // Waits until `holds` returns true. False: it does not by then, in ns of uv_hrtime().
  template <typename Test>
  bool WaitUntil(uint64_t moment, pthread_mutex_t* lock, Test holds) {
    while (!holds()) {
      uint64_t now = uv_hrtime();
      if (now >= moment) return false;
      uv_cond_timedwait(&condition_, lock, moment - now);
    }
    return true;
  }

 private:
  uv_cond_t condition_;
};
