// The yardstick of polling: for each directory openat(2) twice (a handle, and what is read), statx(2) of it
// and getdents64(2), and statx(2) of each entry, on as many threads with one stack of directories; nothing
// kept, nothing compared.
//
// raw_poll DIR THREADS PASSES [REST_MS]   {"directories", "entries", "ms": [of each pass], "cpuMs": of all
// passes together}
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 16, BUFFER = 64 * 1024 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char** paths;  // a stack
  size_t waiting;
  size_t room;
  int busy;
  long directories;
  long entries;
} work = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void die(const char* what) {
  perror(what);
  exit(1);
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double cpu_ms(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

// Under the lock.
static void push(const char* directory, const char* name) {
  if (work.waiting == work.room) {
    work.room = work.room == 0 ? 1024 : 2 * work.room;
    work.paths = realloc(work.paths, work.room * sizeof *work.paths);
    if (work.paths == NULL) die("realloc");
  }
  char* path;
  if (asprintf(&path, "%s%s%s", directory, *name == '\0' ? "" : "/", name) < 0) die("asprintf");
  work.paths[work.waiting++] = path;
}

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
    for (long at = 0; at < bytes;) {
      const struct dirent64* entry = (const struct dirent64*)(buffer + at);
      const char* name = entry->d_name;
      at += entry->d_reclen;
      if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) continue;
      entries++;
      stat_at(handle, name, 0);
      if (entry->d_type != DT_DIR) continue;
      pthread_mutex_lock(&work.lock);
      push(path, name);
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

static void* run(void* unused) {
  char* buffer = malloc(BUFFER);
  if (buffer == NULL) die("malloc");
  pthread_mutex_lock(&work.lock);
  for (;;) {
    while (work.waiting == 0 && work.busy > 0) pthread_cond_wait(&work.changed, &work.lock);
    if (work.waiting == 0) break;
    char* path = work.paths[--work.waiting];
    work.busy++;
    pthread_mutex_unlock(&work.lock);
    visit(path, buffer);
    free(path);
    pthread_mutex_lock(&work.lock);
    work.busy--;
  }
  pthread_cond_broadcast(&work.changed);
  pthread_mutex_unlock(&work.lock);
  free(buffer);
  return unused;
}

static double pass(const char* directory, int threads) {
  pthread_t ids[MAX_THREADS];
  double start = now_ms();
  work.directories = work.entries = 0;
  push(directory, "");
  for (int i = 1; i < threads; i++) {
    if (pthread_create(&ids[i], NULL, run, NULL) != 0) die("pthread_create");
  }
  run(NULL);
  for (int i = 1; i < threads; i++) pthread_join(ids[i], NULL);
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
