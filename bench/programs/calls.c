// Measures system calls of a program, in a JSON line: {"add", "getppid", "write", "read"}. "add" is the
// median of inotify_add_watch(2) of COUNT new directories in DIR, us. The others are ns a call, in the
// quickest of many batches: other work of the machine only adds to them.
//
// calls DIR COUNT        without a filter
// calls DIR COUNT bare   behind a filter of as many steps as `inotify-bridge run` installs, without a trap
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The steps of native/run/filter.cc for a call that is not trapped; the batches, and the calls in each.
enum { STEPS = 13, BATCHES = 400, CALLS = 500 };

static void die(const char* what) {
  perror(what);
  exit(1);
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void filter_barely(void) {
  struct sock_filter steps[STEPS];
  steps[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  // No call has such a number.
  for (unsigned i = 1; i < STEPS - 1; i++)
    steps[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x3ffffff0 + i, STEPS - 2 - i, 0);
  steps[STEPS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {STEPS, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("no_new_privs");
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) die("seccomp");
}

static int by_size(const void* a, const void* b) {
  double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

static double median_add_us(long count) {
  double* took = calloc((size_t)count, sizeof *took);
  int queue = inotify_init1(IN_NONBLOCK);
  if (took == NULL || queue < 0) die("inotify_init1");
  for (long i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "directory-%ld", i);
    if (mkdir(name, 0700) != 0) die(name);
    double start = now_ns();
    if (inotify_add_watch(queue, name, IN_ALL_EVENTS) < 0) die("inotify_add_watch");
    took[i] = now_ns() - start;
  }
  close(queue);
  qsort(took, (size_t)count, sizeof *took, by_size);
  return took[count / 2] / 1000;
}

static int file;

static void ask_getppid(void) {
  syscall(SYS_getppid);
}

static void write_byte(void) {
  if (pwrite(file, "x", 1, 0) != 1) die("pwrite");
}

static void read_byte(void) {
  char byte;
  if (pread(file, &byte, 1, 0) != 1) die("pread");
}

static double least_ns(void (*call)(void)) {
  double least = 1e9;
  for (int batch = 0; batch < BATCHES; batch++) {
    double start = now_ns();
    for (int i = 0; i < CALLS; i++) call();
    double took = (now_ns() - start) / CALLS;
    if (took < least) least = took;
  }
  return least;
}

int main(int argc, char** argv) {
  if (argc < 3 || chdir(argv[1]) != 0) return 2;
  if (argc > 3 && strcmp(argv[3], "bare") == 0) filter_barely();
  file = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) die("file");
  double getppid_ns = least_ns(ask_getppid), write_ns = least_ns(write_byte), read_ns = least_ns(read_byte);
  printf("{\"add\":%.3f,\"getppid\":%.3f,\"write\":%.3f,\"read\":%.3f}\n", median_add_us(atol(argv[2])),
         getppid_ns, write_ns, read_ns);
  return 0;
}
