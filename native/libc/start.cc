// The entry point of a program, which the kernel calls, and the guard of its stack.

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "libc/environment.h"
#include "libc/trap.h"

int main(int argc, char** argv);

char** environment;

namespace {

// The target of the thread pointer. The guard, which the compiler lays before each return address, is at
// 0x28: so it is on x64, and arm64 is told so (binding.gyp).
struct Thread {
  uintptr_t unused[5];
  uintptr_t guard;
};
Thread thread;

void SetThreadPointer() {
#if defined(__x86_64__)
  constexpr int kSetFs = 0x1002;  // ARCH_SET_FS, of <asm/prctl.h>
  Trap(SYS_arch_prctl, kSetFs, reinterpret_cast<long>(&thread), 0, 0, 0, 0);
#elif defined(__aarch64__)
  asm volatile("msr tpidr_el0, %0" : : "r"(&thread));
#endif
}

}  // namespace

extern "C" {

[[noreturn]] void __stack_chk_fail() {
  __builtin_trap();
}

// The stack as the kernel lays it: argc, argv and a null, the environment and a null, pairs of what else it
// says. It has no guard of its own, as it makes it.
[[noreturn]] __attribute__((visibility("hidden"))) void StartOnStack(uintptr_t* stack) {
  const int argc = static_cast<int>(*stack);
  char** argv = reinterpret_cast<char**>(stack + 1);
  environment = argv + argc + 1;
  char** end = environment;
  while (*end != nullptr) end++;
  for (auto* pair = reinterpret_cast<uintptr_t*>(end + 1); *pair != AT_NULL; pair += 2)
    if (*pair == AT_RANDOM) memcpy(&thread.guard, reinterpret_cast<void*>(pair[1]), sizeof thread.guard);
  // A string that is read beyond its end ends here: the first byte in memory is 0.
  thread.guard &= ~uintptr_t{0xff};
  SetThreadPointer();
  const int status = main(argc, argv);
  for (;;) Trap(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

}  // extern "C"

#if defined(__x86_64__)
asm(R"(
  .globl _start
  .type _start, @function
_start:
  xor %ebp, %ebp
  mov %rsp, %rdi
  and $-16, %rsp
  call StartOnStack
)");
#elif defined(__aarch64__)
asm(R"(
  .globl _start
  .type _start, %function
_start:
  mov x29, #0
  mov x30, #0
  mov x0, sp
  bl StartOnStack
)");
#endif
