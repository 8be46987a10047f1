// The yardstick of recursive watching: inotify_add_watch(2), open and getdents64(2) for each directory, on
// two threads with one stack of paths, and nothing kept of what is read.
//
// raw_walk DIR [THREADS]   {"directories", "entries", "ms", "closeMs"}
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  MASK = IN_ATTRIB | IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |
         IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK,
  MAX_THREADS = 16
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char** paths;  // a stack
  size_t waiting;
  size_t room;
  int busy;
  int queue;
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

static char* join(const char* directory, const char* name) {
  size_t length = strlen(directory), more = strlen(name);
  char* path = malloc(length + more + 2);
  if (path == NULL) die("malloc");
  memcpy(path, directory, length);
  path[length] = '/';
  memcpy(path + length + 1, name, more + 1);
  return path;
}

// Under the lock.
static void push(char* path) {
  if (work.waiting == work.room) {
    work.room = work.room == 0 ? 1024 : 2 * work.room;
    work.paths = realloc(work.paths, work.room * sizeof *work.paths);
    if (work.paths == NULL) die("realloc");
  }
  work.paths[work.waiting++] = path;
}

// The paths of one directory's subdirectories.
struct found {
  char** paths;
  size_t count;
  size_t room;
};

static void add(struct found* found, char* path) {
  if (found->count == found->room) {
    found->room = found->room == 0 ? 64 : 2 * found->room;
    found->paths = realloc(found->paths, found->room * sizeof *found->paths);
    if (found->paths == NULL) die("realloc");
  }
  found->paths[found->count++] = path;
}

static void visit(const char* path, char* buffer, size_t size, struct found* found) {
  long entries = 0, bytes;
  found->count = 0;
  if (inotify_add_watch(work.queue, path, MASK) < 0) die(path);
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) die(path);
  while ((bytes = syscall(SYS_getdents64, fd, buffer, size)) > 0) {
    for (long at = 0; at < bytes;) {
      const struct dirent64* entry = (const struct dirent64*)(buffer + at);
      const char* name = entry->d_name;
      at += entry->d_reclen;
      if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) continue;
      entries++;
      if (entry->d_type == DT_DIR) add(found, join(path, name));
    }
  }
  if (bytes < 0) die(path);
  close(fd);
  pthread_mutex_lock(&work.lock);
  for (size_t i = 0; i < found->count; i++) push(found->paths[i]);
  work.directories++;
  work.entries += entries;
  if (found->count > 1) pthread_cond_broadcast(&work.changed);
  pthread_mutex_unlock(&work.lock);
}

static void* run(void* unused) {
  enum { SIZE = 64 * 1024 };
  struct found found = {NULL, 0, 0};
  char* buffer = malloc(SIZE);
  if (buffer == NULL) die("malloc");
  pthread_mutex_lock(&work.lock);
  for (;;) {
    while (work.waiting == 0 && work.busy > 0) pthread_cond_wait(&work.changed, &work.lock);
    if (work.waiting == 0) break;
    char* path = work.paths[--work.waiting];
    work.busy++;
    pthread_mutex_unlock(&work.lock);
    visit(path, buffer, SIZE, &found);
    free(path);
    pthread_mutex_lock(&work.lock);
    work.busy--;
  }
  pthread_cond_broadcast(&work.changed);
  pthread_mutex_unlock(&work.lock);
  free(buffer);
  free(found.paths);
  return unused;
}

int main(int argc, char** argv) {
  int threads = argc > 2 ? atoi(argv[2]) : 2;
  if (argc < 2 || threads < 1 || threads > MAX_THREADS) {
    fputs("usage: raw_walk DIR [THREADS]\n", stderr);
    return 2;
  }
  pthread_t ids[MAX_THREADS];
  double start = now_ms();
  work.queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (work.queue < 0) die("inotify_init1");
  push(strdup(argv[1]));
  for (int i = 1; i < threads; i++) {
    if (pthread_create(&ids[i], NULL, run, NULL) != 0) die("pthread_create");
  }
  run(NULL);
  for (int i = 1; i < threads; i++) pthread_join(ids[i], NULL);
  double walked = now_ms();
  close(work.queue);
  printf("{\"directories\":%ld,\"entries\":%ld,\"ms\":%.1f,\"closeMs\":%.1f}\n", work.directories,
         work.entries, walked - start, now_ms() - walked);
  return 0;
}
