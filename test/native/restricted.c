// restricted ROOT PROGRAM ARG...: runs a program as a container with securityContext runAsNonRoot, no
// capabilities, allowPrivilegeEscalation: false and seccompProfile RuntimeDefault does. ROOT is the root
// directory of the program. The caller is root.
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

enum { NOBODY = 65534, MOST_INSTRUCTIONS = 400 };

// The system calls that the default profiles of containerd and Docker refuse without capabilities.
static const int refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mbind,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_move_pages,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
};

static const unsigned new_namespaces =
    CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;

static struct sock_filter program[MOST_INSTRUCTIONS];
static unsigned short length;

static void add(struct sock_filter instruction) {
  if (length == MOST_INSTRUCTIONS) abort();
  program[length++] = instruction;
}

static void load(unsigned offset) {
  add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void end(unsigned action) {
  add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void refuse(int call, int error) {
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1));
  end(SECCOMP_RET_ERRNO | (unsigned)error);
}

static void make_filter(void) {
  load(offsetof(struct seccomp_data, arch));
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
  end(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) refuse(refused[i], EPERM);
  // The flags of clone3() are in memory, where no filter sees them: a libc then takes clone().
  refuse(SYS_clone3, ENOSYS);
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  load(offsetof(struct seccomp_data, args[0]));
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, new_namespaces, 0, 1));
  end(SECCOMP_RET_ERRNO | EPERM);
  end(SECCOMP_RET_ALLOW);
}

static void check(int result, const char* what) {
  if (result == 0) return;
  perror(what);
  exit(125);
}

int main(int argc, char** argv) {
  if (argc < 3) return 125;
  check(chroot(argv[1]), "chroot");
  check(chdir("/"), "chdir");
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
    check(prctl(PR_CAPBSET_DROP, capability), "PR_CAPBSET_DROP");
  check(setgroups(0, NULL), "setgroups");
  check(setresgid(NOBODY, NOBODY, NOBODY), "setresgid");
  check(setresuid(NOBODY, NOBODY, NOBODY), "setresuid");
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
  // A change of user resets the signal that unshare --kill-child asked for (prctl(2)).
  check(prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
  make_filter();
  struct sock_fprog filter = {.len = length, .filter = program};
  check((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter), "seccomp");
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 125;
}
