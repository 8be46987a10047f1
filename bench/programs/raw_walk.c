// The yardstick of recursive watching: inotify_add_watch(2), open and getdents64(2) for each directory, on
// two threads with one stack of paths. Keeps nothing of the results.
//
// raw_walk DIR [THREADS [HOW]]   {"directories", "entries", "ms", "cpuMs", "againMs", "closeMs"}
//
// HOW: "paths" adds the watch by the directory's path. "descriptors" adds the watch by a descriptor, so that
// the watched directory is surely the listed one. "again" walks by descriptors twice, the second time with
// statx(2) of each name: the cost of finding the changes whose events were lost. "againMs" is the time of the
// second walk.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "directories.h"

enum {
  MASK = IN_ATTRIB | IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |
         IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK
};

static int queue;
static bool by_descriptors;
static bool stats_names;

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

static void stat_at(int directory, const char* name, int flags) {
  struct statx facts;
  if (statx(directory, name, flags | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &facts) < 0) die(name);
}

// A descriptor to read from, opened once the watch has been added.
static int watch_by_path(const char* path) {
  if (inotify_add_watch(queue, path, MASK) < 0) die(path);
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int watch_by_descriptor(const char* path) {
  static _Thread_local bool has_own_directory;
  if (!has_own_directory && unshare(CLONE_FS) < 0) die("unshare");
  has_own_directory = true;
  int directory = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) die(path);
  stat_at(directory, "", AT_EMPTY_PATH);
  if (fchdir(directory) < 0 || inotify_add_watch(queue, ".", MASK) < 0) die(path);
  int readable = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  close(directory);
  return readable;
}

static void visit(const char* path, char* buffer) {
  long entries = 0, bytes;
  found.count = 0;
  int fd = by_descriptors ? watch_by_descriptor(path) : watch_by_path(path);
  if (fd < 0) die(path);
  while ((bytes = syscall(SYS_getdents64, fd, buffer, BUFFER)) > 0) {
    const struct dirent64* entry;
    for (long at = 0; (entry = next_entry(buffer, bytes, &at)) != NULL; entries++) {
      if (stats_names) stat_at(fd, entry->d_name, 0);
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
  const char* how = argc > 3 ? argv[3] : "paths";
  bool again = strcmp(how, "again") == 0;
  by_descriptors = again || strcmp(how, "descriptors") == 0;
  if (argc < 2 || threads < 1 || threads > MAX_THREADS || (!by_descriptors && strcmp(how, "paths") != 0)) {
    fputs("usage: raw_walk DIR [THREADS [paths|descriptors|again]]\n", stderr);
    return 2;
  }
  char* top = realpath(argv[1], NULL);
  if (top == NULL) die(argv[1]);
  double start = now_ms();
  queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (queue < 0) die("inotify_init1");
  visit_all(top, threads);
  double walked = now_ms(), used = cpu_ms();
  long directories = work.directories, entries = work.entries;
  stats_names = again;
  if (again) visit_all(top, threads);
  double walked_again = now_ms();
  close(queue);
  printf(
      "{\"directories\":%ld,\"entries\":%ld,\"ms\":%.1f,\"cpuMs\":%.1f,\"againMs\":%.1f,\"closeMs\":%.1f}\n",
      directories, entries, walked - start, used, walked_again - walked, now_ms() - walked_again);
  return 0;
}
