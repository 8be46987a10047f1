// Operations of tree_writer.c on whole subtrees. All of them go by directory descriptors and O_NOFOLLOW:
// other writers move and replace entries meanwhile, and no operation may lead out of the tree.
#ifndef TEST_NATIVE_TREE_WALK_H
#define TEST_NATIVE_TREE_WALK_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEPTH = 8 };

static int is_dot(const char* name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// Prints the inode that was written, and a time before the write: a watcher tells the write later.
static int write_and_say(int fd, const char* data, size_t length) {
  struct timespec before;
  struct stat stats;
  clock_gettime(CLOCK_REALTIME, &before);
  if (write(fd, data, length) < 0 || fstat(fd, &stats) != 0) return -1;
  double ms = (double)before.tv_sec * 1e3 + (double)before.tv_nsec / 1e6;
  printf("wrote %" PRIu64 " %.3f\n", (uint64_t)stats.st_ino, ms);
  return 0;
}

// Goes on when another writer has removed a name first, unlike /bin/rm.
static int remove_tree(int parent, const char* name) {
  if (unlinkat(parent, name, 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) return -1;
  DIR* directory = fdopendir(fd);
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;)
    if (!is_dot(entry->d_name)) remove_tree(fd, entry->d_name);
  closedir(directory);
  return unlinkat(parent, name, AT_REMOVEDIR);
}

static int copy_file(int from_parent, const char* from, int to_parent, const char* to) {
  char data[4096];
  int in = openat(from_parent, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (in < 0) return -1;
  int out = openat(to_parent, to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (out >= 0) {
    ssize_t got = read(in, data, sizeof data);
    if (got > 0 && write_and_say(out, data, (size_t)got) < 0) perror("write");
    close(out);
  }
  close(in);
  return out < 0 ? -1 : 0;
}

// Copies a tree as cp -r does: at most `*budget` entries, so that a copy into itself ends.
static int copy_tree(int from_parent, const char* from, int to_parent, const char* to, int depth,
                     int* budget) {
  struct stat stats;
  if (fstatat(from_parent, from, &stats, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  if ((*budget)-- <= 0 || depth > MAX_DEPTH) return 0;
  if (S_ISREG(stats.st_mode)) return copy_file(from_parent, from, to_parent, to);
  if (S_ISLNK(stats.st_mode)) {
    char target[4096];
    ssize_t length = readlinkat(from_parent, from, target, sizeof target - 1);
    if (length < 0) return -1;
    target[length] = '\0';
    return symlinkat(target, to_parent, to);
  }
  if (!S_ISDIR(stats.st_mode)) return 0;
  if (mkdirat(to_parent, to, 0700) != 0 && errno != EEXIST) return -1;
  int source = openat(from_parent, from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (source < 0) return -1;
  int target = openat(to_parent, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (target < 0) {
    close(source);
    return -1;
  }
  DIR* directory = fdopendir(source);
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;)
    if (!is_dot(entry->d_name)) copy_tree(source, entry->d_name, target, entry->d_name, depth + 1, budget);
  closedir(directory);
  close(target);
  return 0;
}

#endif
