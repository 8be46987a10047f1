// Usage: chain make DIRECTORY COUNT | chain remove DIRECTORY | chain extend DIRECTORY OTHER
//
// Directories in each other, all named "d", deeper than any path leads. make: COUNT of them, and a file "end"
// in the last; it goes on where there are some. remove: all of them. extend: OTHER's "d" is moved to the end
// of DIRECTORY's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Goes down to the last directory.
static int go_down(const char* path) {
  int count = 0;
  if (chdir(path) != 0) return -1;
  while (chdir("d") == 0) count++;
  return count;
}

static int make(const char* path, int count) {
  if (go_down(path) < 0) return -1;
  for (int i = 0; i < count; i++)
    if (mkdir("d", 0700) != 0 || chdir("d") != 0) return -1;
  int fd = open("end", O_WRONLY | O_CREAT, 0600);
  return fd < 0 ? -1 : close(fd);
}

static int remove_all(const char* path) {
  int count = go_down(path);
  for (int i = 0; i < count; i++) {
    unlink("end");
    if (chdir("..") != 0 || rmdir("d") != 0) return -1;
  }
  return count < 0 ? -1 : 0;
}

static int extend(const char* path, const char* other) {
  int from = open(other, O_PATH | O_DIRECTORY);
  if (from < 0 || go_down(path) < 0) return -1;
  return renameat(from, "d", AT_FDCWD, "d");
}

int main(int argc, char** argv) {
  int result = -1;
  if (argc < 3) return 2;
  if (strcmp(argv[1], "make") == 0 && argc > 3) result = make(argv[2], atoi(argv[3]));
  if (strcmp(argv[1], "remove") == 0) result = remove_all(argv[2]);
  if (strcmp(argv[1], "extend") == 0 && argc > 3) result = extend(argv[2], argv[3]);
  if (result < 0) perror(argv[1]);
  return result == 0 ? 0 : 1;
}
