// Usage: tight_reader DIRECTORY FILE... [-- OTHER...]
//
// Opens and reads files, paths relative to DIRECTORY, as fast as it can until its input ends. Reads each file
// by its own path, and the files before -- that are in DIRECTORY/..data through one descriptor of that
// directory as well. Answers each byte of its input with a line, once all reads that had begun are done. Then
// prints as JSON the counts: "missing" (no such file), "failed" (any other error, the last one's name in
// "error"), "torn" (a file that is empty or not one character, repeated) and "mixed" (two files of one ..data
// with other characters).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned long reads, missing, failed, torn, mixed;
static const char* error = "";
static char content[1 << 17];

// The character that the file is made of; -1 if there is none.
static int read_whole(int directory, const char* path) {
  int fd = openat(directory, path, O_RDONLY);
  if (fd < 0) return -1;
  ssize_t length = read(fd, content, sizeof content);
  close(fd);
  if (length <= 0 || memcmp(content, content + 1, (size_t)length - 1) != 0) {
    torn++;
    return -1;
  }
  return content[0];
}

static void read_by_path(int root, const char* path) {
  reads++;
  errno = 0;
  if (read_whole(root, path) != -1 || errno == 0) return;
  if (errno == ENOENT) {
    missing++;
  } else {
    failed++;
    error = strerrorname_np(errno);
  }
}

static void read_generation(int root, char** paths) {
  int data = openat(root, "..data", O_PATH | O_DIRECTORY);
  if (data < 0) return;
  int first = -1;
  for (; *paths != NULL && strcmp(*paths, "--") != 0; paths++) {
    int version = read_whole(data, *paths);
    if (first != -1 && version != -1 && version != first) mixed++;
    if (version != -1) first = version;
  }
  close(data);
}

int main(int argc, char** argv) {
  int root = argc > 2 ? open(argv[1], O_PATH | O_DIRECTORY) : -1;
  if (root < 0) return 2;
  printf("ready\n");
  fflush(stdout);
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  char asked;
  for (;;) {
    if (poll(&input, 1, 0) != 0) {
      if (read(STDIN_FILENO, &asked, 1) != 1) break;
      printf("done\n");
      fflush(stdout);
    }
    for (int n = 0; n < 16; n++) {
      for (char** path = argv + 2; *path != NULL; path++) {
        if (strcmp(*path, "--") != 0) read_by_path(root, *path);
      }
      read_generation(root, argv + 2);
    }
  }
  printf("{\"reads\":%lu,\"missing\":%lu,\"failed\":%lu,\"torn\":%lu,\"mixed\":%lu,\"error\":\"%s\"}\n",
         reads, missing, failed, torn, mixed, error);
  return 0;
}
