// File operations that Node lacks, for the scripts of test/scripts.
//
//   operations exchange ONE OTHER   renameat2(2), RENAME_EXCHANGE
//   operations whiteout FROM TO     renameat2(2), RENAME_WHITEOUT: leaves a character device 0:0 at FROM
//   operations tmpfile PATH [TEXT]  an O_TMPFILE of PATH's directory, written, then linked as PATH
//   operations mkfifo PATH
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int link_tmpfile(const char* path, const char* text) {
  char directory[PATH_MAX], self[64];
  if (snprintf(directory, sizeof directory, "%s", path) >= (int)sizeof directory) return -1;
  int fd = open(dirname(directory), O_TMPFILE | O_WRONLY, 0600);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) return -1;
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0 ? -1 : close(fd);
}

static int operate(int argc, char** argv) {
  const char* name = argv[1];
  if (strcmp(name, "mkfifo") == 0 && argc == 3) return mkfifo(argv[2], 0600);
  if (strcmp(name, "tmpfile") == 0) return link_tmpfile(argv[2], argc > 3 ? argv[3] : "x");
  if (strcmp(name, "exchange") == 0 && argc == 4)
    return renameat2(AT_FDCWD, argv[2], AT_FDCWD, argv[3], RENAME_EXCHANGE);
  if (strcmp(name, "whiteout") == 0 && argc == 4)
    return renameat2(AT_FDCWD, argv[2], AT_FDCWD, argv[3], RENAME_WHITEOUT);
  fprintf(stderr, "operations: see the usage in operations.c\n");
  return -2;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int status = operate(argc, argv);
  if (status == -1) perror(argv[1]);
  return status == 0 ? 0 : -status;
}
