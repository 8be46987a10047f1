// The yardstick of polling: openat(2) of each directory twice (a handle, and the directory to read), statx(2)
// and getdents64(2) of the directory, and statx(2) of each entry, on THREADS threads with one stack of
// directories. Keeps and compares nothing.
//
// raw_poll DIR THREADS PASSES [REST_MS]
//   prints {"directories", "entries", "ms": [of each pass], "cpuMs": of all passes together}
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>

#include "directories.h"

static void stat_at(int directory, const char* name, int flags) {
  struct statx found;
  const unsigned mask = STATX_BASIC_STATS | STATX_BTIME | 0x1000U /* STATX_MNT_ID */;
  if (statx(directory, name, flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, mask, &found) < 0) die(name);
}

static void visit(const char* path, char* buffer) {
  long entries = 0, bytes;
  int handle = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (handle < 0) die(path);
  stat_at(handle, "", AT_EMPTY_PATH);
  int fd = openat(handle, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) die(path);
  while ((bytes = syscall(SYS_getdents64, fd, buffer, BUFFER)) > 0) {
    const struct dirent64* entry;
    for (long at = 0; (entry = next_entry(buffer, bytes, &at)) != NULL; entries++) {
      stat_at(handle, entry->d_name, 0);
      if (entry->d_type != DT_DIR) continue;
      char* below = join(path, entry->d_name);
      pthread_mutex_lock(&work.lock);
      push(below);
      if (work.waiting > 1) pthread_cond_signal(&work.changed);
      pthread_mutex_unlock(&work.lock);
    }
  }
  if (bytes < 0) die(path);
  close(fd);
  close(handle);
  pthread_mutex_lock(&work.lock);
  work.directories++;
  work.entries += entries;
  pthread_mutex_unlock(&work.lock);
}

static double pass(const char* directory, int threads) {
  double start = now_ms();
  work.directories = work.entries = 0;
  visit_all(directory, threads);
  return now_ms() - start;
}

int main(int argc, char** argv) {
  int threads = argc > 3 ? atoi(argv[2]) : 0, passes = argc > 3 ? atoi(argv[3]) : 0;
  long rest = argc > 4 ? atol(argv[4]) : 0;
  if (threads < 1 || threads > MAX_THREADS || passes < 1) {
    fputs("usage: raw_poll DIR THREADS PASSES [REST_MS]\n", stderr);
    return 2;
  }
  const struct timespec sleep = {rest / 1000, rest % 1000 * 1000000};
  pass(argv[1], threads);
  double cpu = cpu_ms();
  printf("{\"ms\":[");
  for (int i = 0; i < passes; i++) {
    if (rest > 0) nanosleep(&sleep, NULL);
    printf("%s%.2f", i > 0 ? "," : "", pass(argv[1], threads));
  }
  printf("],\"directories\":%ld,\"entries\":%ld,\"cpuMs\":%.3f}\n", work.directories, work.entries,
         cpu_ms() - cpu);
  return 0;
}
