// The walk of the yardsticks through a tree: threads with one stack of paths. Each yardstick has its own
// visit(), which handles a directory.
#ifndef BENCH_DIRECTORIES_H
#define BENCH_DIRECTORIES_H
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

// Counts the entries, and pushes the directories to be visited. `buffer` belongs to the thread.
static void visit(const char* path, char* buffer);

static void die(const char* what) {
  perror(what);
  exit(1);
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

// All threads'.
static double cpu_ms(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
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

// The next of what getdents64(2) has read, but for . and ..; NULL: there is no more.
static const struct dirent64* next_entry(const char* buffer, long bytes, long* at) {
  while (*at < bytes) {
    const struct dirent64* entry = (const struct dirent64*)(buffer + *at);
    const char* name = entry->d_name;
    *at += entry->d_reclen;
    if (name[0] != '.' || (name[1] != '\0' && (name[1] != '.' || name[2] != '\0'))) return entry;
  }
  return NULL;
}

// Under the lock. The path is the stack's from now on.
static void push(char* path) {
  if (work.waiting == work.room) {
    work.room = work.room == 0 ? 1024 : 2 * work.room;
    work.paths = realloc(work.paths, work.room * sizeof *work.paths);
    if (work.paths == NULL) die("realloc");
  }
  work.paths[work.waiting++] = path;
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

// Visits a directory and all below it.
static void visit_all(const char* directory, int threads) {
  pthread_t ids[MAX_THREADS];
  push(strdup(directory));
  for (int i = 1; i < threads; i++) {
    if (pthread_create(&ids[i], NULL, run, NULL) != 0) die("pthread_create");
  }
  run(NULL);
  for (int i = 1; i < threads; i++) pthread_join(ids[i], NULL);
}

#endif
