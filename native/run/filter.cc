#include "run/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64, kOther = AUDIT_ARCH_I386;
constexpr unsigned kTrapped[] = {SYS_inotify_init, SYS_inotify_init1, SYS_inotify_add_watch,
                                 SYS_inotify_rm_watch};
// The numbers of 32-bit programs: arch/x86/entry/syscalls/syscall_32.tbl.
constexpr unsigned kRefused[] = {291, 292, 293, 332};
constexpr unsigned kX32 = 0x40000000;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64, kOther = AUDIT_ARCH_ARM;
constexpr unsigned kTrapped[] = {SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch};
// arch/arm/tools/syscall.tbl.
constexpr unsigned kRefused[] = {316, 317, 318, 360};
#endif

constexpr unsigned kAsk = SECCOMP_RET_USER_NOTIF;
// linux/seccomp.h has them since Linux 6.6.
constexpr unsigned long kSetFlags = SECCOMP_IOW(4, uint64_t), kSynchronous = 1;
// A program whose calls are numbered otherwise would hear nothing, and not know.
constexpr unsigned kRefuse = SECCOMP_RET_ERRNO | ENOSYS;

class Filter {
 public:
  void Load(size_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset), 0, 0); }
  void Return(unsigned what) { Add(BPF_RET | BPF_K, what, 0, 0); }
  void Unless(unsigned test, unsigned value, unsigned skipped) {
    Add(BPF_JMP | test | BPF_K, value, 0, skipped);
  }
  template <size_t N>
  void ReturnIfAny(const unsigned (&numbers)[N], unsigned what) {
    for (unsigned number : numbers) Unless(BPF_JEQ, number, 1), Return(what);
  }
  sock_fprog program() { return {static_cast<unsigned short>(count_), steps_}; }

 private:
  void Add(unsigned code, unsigned value, unsigned so, unsigned otherwise) {
    steps_[count_++] = {static_cast<unsigned short>(code), static_cast<unsigned char>(so),
                        static_cast<unsigned char>(otherwise), value};
  }

  sock_filter steps_[48];
  size_t count_ = 0;
};

}  // namespace

int InstallFilter() {
  Filter filter;
  filter.Load(offsetof(seccomp_data, arch));
  constexpr unsigned kOtherSteps = 2 * sizeof kRefused / sizeof *kRefused + 2;
  filter.Unless(BPF_JEQ, kOther, kOtherSteps);
  filter.Load(offsetof(seccomp_data, nr));
  filter.ReturnIfAny(kRefused, kRefuse);
  filter.Return(SECCOMP_RET_ALLOW);
  filter.Unless(BPF_JEQ, kArchitecture, 1 + 2 * sizeof kTrapped / sizeof *kTrapped);
  filter.Load(offsetof(seccomp_data, nr));
  filter.ReturnIfAny(kTrapped, kAsk);
#if defined(__x86_64__)
  for (unsigned number : kTrapped) filter.Unless(BPF_JEQ, number | kX32, 1), filter.Return(kRefuse);
#endif
  filter.Return(SECCOMP_RET_ALLOW);
  sock_fprog program = filter.program();

  if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0) return -errno;
  // A signal does not break off a call that is being answered (Linux 5.19): Go's threads are signalled all
  // the time.
  constexpr unsigned kListener = SECCOMP_FILTER_FLAG_NEW_LISTENER, kKillable = 1U << 5;
  long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kListener | kKillable, &program);
  if (listener < 0 && errno == EINVAL)
    listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kListener, &program);
  if (listener < 0) return -errno;
  // The kernel runs whoever asks and whoever answers on one processor, by turns, where it can (Linux 6.6):
  // two of them would have to wake each other.
  syscall(SYS_ioctl, listener, kSetFlags, kSynchronous);
  return static_cast<int>(listener);
}
