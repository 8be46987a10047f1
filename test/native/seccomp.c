// seccomp ERRNO CALL[,CALL...] PROGRAM ARG...: runs a program to which the kernel refuses these system calls,
// as the profile of a container does.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char* name;
  unsigned number;
} calls[] = {
    {"inotify_add_watch", SYS_inotify_add_watch},
    {"inotify_init1", SYS_inotify_init1},
    {"fsync", SYS_fsync},
    {"kcmp", SYS_kcmp},
    {"renameat2", SYS_renameat2},
    {"seccomp", SYS_seccomp},
    {"statx", SYS_statx},
};

static unsigned number_of(const char* name) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strcmp(calls[i].name, name) == 0) return calls[i].number;
  fprintf(stderr, "seccomp: %s is not known\n", name);
  exit(125);
}

int main(int argc, char** argv) {
  if (argc < 4) return 125;
  struct sock_filter code[32];
  unsigned short length = 0;
  code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (char* name = strtok(argv[2], ","); name != NULL && length < 30; name = strtok(NULL, ",")) {
    code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(name), 0, 1);
    code[length++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1]));
  }
  code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {length, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("seccomp");
    return 125;
  }
  execvp(argv[3], argv + 3);
  perror(argv[3]);
  return 125;
}
