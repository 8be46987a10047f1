#include "threads/thread.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace {

constexpr size_t kStackBytes = 256 * 1024;

// All but 32 to 34, with which glibc and musl speak to every thread on their own account: setuid(2) waits
// until each has answered (nptl(7)).
constexpr uint64_t kAllSignals = ~(uint64_t{0b111} << 31);

// The kernel's own call and its 64-bit set: pthread_sigmask is bound to GLIBC_2.32 when linked on a newer
// system.
void SetSignalMask(const uint64_t* mask, uint64_t* before) {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, before, sizeof *mask);
}

}  // namespace

int StartThread(uv_thread_t* thread, void (*main)(void*), void* argument) {
  // libuv's thread functions: pthread_create itself is bound to GLIBC_2.34 when linked on a newer system.
  uv_thread_options_t options = {UV_THREAD_HAS_STACK_SIZE, kStackBytes};
  // Signals are for node's own threads: a handler must not find itself on a stack of this size.
  uint64_t before = 0;
  SetSignalMask(&kAllSignals, &before);
  int error = uv_thread_create_ex(thread, &options, main, argument);
  SetSignalMask(&before, nullptr);
  return error;
}

int StartDetachedThread(void (*main)(void*), void* argument) {
  uv_thread_t thread;
  int error = StartThread(&thread, main, argument);
  if (error < 0) return error;
  // Asked for by name, because linked on a newer system it is bound to GLIBC_2.34 as well, and libuv has its
  // own only since 1.50 (node 20 brings 1.46). Where it is not to be had, the thread's stack stays until the
  // process ends.
  uv_lib_t process;
  void* detach = nullptr;
  if (uv_dlopen(nullptr, &process) == 0 && uv_dlsym(&process, "pthread_detach", &detach) == 0)
    reinterpret_cast<int (*)(uv_thread_t)>(detach)(thread);
  uv_dlclose(&process);
  return 0;
}
