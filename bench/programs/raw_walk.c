// The yardstick of recursive watching: inotify_add_watch(2), open and getdents64(2) for each directory, on
// two threads with one stack of paths, and nothing kept of what is read.
//
// raw_walk DIR [THREADS]   {"directories", "entries", "ms", "cpuMs", "closeMs"}
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/inotify.h>

#include "directories.h"

enum {
  MASK = IN_ATTRIB | IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |
         IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK
};

static int queue;

// The paths of one directory's subdirectories: pushed together, for the lock is what the threads wait for.
static _Thread_local struct {
  char** paths;
  size_t count;
  size_t room;
} found;

static void add(char* path) {
  if (found.count == found.room) {
    found.room = found.room == 0 ? 64 : 2 * found.room;
    found.paths = realloc(found.paths, found.room * sizeof *found.paths);
    if (found.paths == NULL) die("realloc");
  }
  found.paths[found.count++] = path;
}

static void visit(const char* path, char* buffer) {
  long entries = 0, bytes;
  found.count = 0;
  if (inotify_add_watch(queue, path, MASK) < 0) die(path);
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) die(path);
  while ((bytes = syscall(SYS_getdents64, fd, buffer, BUFFER)) > 0) {
    const struct dirent64* entry;
    for (long at = 0; (entry = next_entry(buffer, bytes, &at)) != NULL; entries++) {
      if (entry->d_type == DT_DIR) add(join(path, entry->d_name));
    }
  }
  if (bytes < 0) die(path);
  close(fd);
  pthread_mutex_lock(&work.lock);
  for (size_t i = 0; i < found.count; i++) push(found.paths[i]);
  work.directories++;
  work.entries += entries;
  if (found.count > 1) pthread_cond_broadcast(&work.changed);
  pthread_mutex_unlock(&work.lock);
}

int main(int argc, char** argv) {
  int threads = argc > 2 ? atoi(argv[2]) : 2;
  if (argc < 2 || threads < 1 || threads > MAX_THREADS) {
    fputs("usage: raw_walk DIR [THREADS]\n", stderr);
    return 2;
  }
  double start = now_ms();
  queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (queue < 0) die("inotify_init1");
  visit_all(argv[1], threads);
  double walked = now_ms(), used = cpu_ms();
  close(queue);
  printf("{\"directories\":%ld,\"entries\":%ld,\"ms\":%.1f,\"cpuMs\":%.1f,\"closeMs\":%.1f}\n",
         work.directories, work.entries, walked - start, used, now_ms() - walked);
  return 0;
}
