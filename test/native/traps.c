// Usage: traps WHAT PATH [COUNT]
//
// Operations that Node lacks, for ../watch/traps.test.ts.
// store: changes a mapped file by a store, and keeps the file open until the input ends; prints "ready" and
// "done", and waits for a line between. aio: appends by io_submit(2). flags: sets an inode flag (chattr).
// deep: makes COUNT directories in each other, of 255 bytes a name, beyond PATH_MAX, and a file in the last.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int say_and_wait(const char* what) {
  char line[16];
  puts(what);
  fflush(stdout);
  return fgets(line, sizeof line, stdin) != NULL;
}

static int store(const char* path) {
  int fd = open(path, O_RDWR);
  if (fd < 0) return -1;
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return -1;
  if (say_and_wait("ready")) memcpy(page, "stored", 6);
  if (msync(page, 4096, MS_SYNC) != 0) return -1;
  // Closing a descriptor that was open for writing would be an event.
  while (say_and_wait("done")) continue;
  return 0;
}

static int write_asynchronously(const char* path) {
  static char data[] = "asynchronous";
  int fd = open(path, O_WRONLY);
  aio_context_t context = 0;
  if (fd < 0 || syscall(SYS_io_setup, 1, &context) != 0) return -1;
  struct iocb block = {.aio_fildes = (unsigned)fd,
                       .aio_lio_opcode = IOCB_CMD_PWRITE,
                       .aio_buf = (unsigned long)data,
                       .aio_nbytes = sizeof data - 1};
  struct iocb* blocks[] = {&block};
  struct io_event event;
  if (syscall(SYS_io_submit, context, 1, blocks) != 1) return -1;
  if (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1) return -1;
  return close(fd);
}

static int set_flags(const char* path) {
  int fd = open(path, O_RDONLY), flags;
  if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return -1;
  flags |= FS_NOATIME_FL;
  return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int make_deep(const char* path, int count) {
  char name[256];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  if (chdir(path) != 0) return -1;
  for (int i = 0; i < count; i++)
    if (mkdir(name, 0700) != 0 || chdir(name) != 0) return -1;
  int fd = open("deepest", O_WRONLY | O_CREAT, 0600);
  return fd < 0 ? -1 : close(fd);
}

int main(int argc, char** argv) {
  int result = 2;
  if (argc < 3) return 2;
  if (strcmp(argv[1], "store") == 0) result = store(argv[2]);
  if (strcmp(argv[1], "aio") == 0) result = write_asynchronously(argv[2]);
  if (strcmp(argv[1], "flags") == 0) result = set_flags(argv[2]);
  if (strcmp(argv[1], "deep") == 0) result = make_deep(argv[2], argc > 3 ? atoi(argv[3]) : 1);
  if (result < 0) perror(argv[1]);
  return result == 0 ? 0 : 1;
}
