// Usage: run_table DIRECTORY
//
// Makes each call of a table, which has one answer, in an empty DIRECTORY, and says "CALL: ANSWER": for
// test/run, which compares the answers with those that there are without `run`.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_calls.h"

static void told(const char* name, long answer) {
  if (answer < 0)
    printf("%s: %s\n", name, strerror(errno));
  else
    printf("%s: %ld\n", name, answer);
}

static int made(const char* path, int is_directory) {
  int done = is_directory ? mkdir(path, 0755) : mknod(path, S_IFREG | 0644, 0);
  if (done != 0) fail(path);
  return open(path, O_RDONLY);
}

// "./././...": a path of that length to the directory itself.
static const char* long_path(size_t length) {
  char* path = pages(2) + 2 * PAGE - length - 1;
  for (size_t i = 0; i < length; i++) path[i] = i % 2 == 0 ? '.' : '/';
  return path;
}

static void table_of_paths(int queue) {
  char name[300];
  char* end = pages(1) + PAGE;
  memset(end - 100, 'x', 100);
  told("no path", add(queue, NULL, IN_CREATE));
  told("unmapped", add(queue, end, IN_CREATE));
  told("of the kernel", add(queue, (const void*)(UINTPTR_MAX - 4095), IN_CREATE));
  told("not canonical", add(queue, (const void*)(UINTPTR_MAX / 2 + 5), IN_CREATE));
  told("no end in the page", add(queue, end - 100, IN_CREATE));
  memcpy(end - 2, ".", 2);
  told("ends with the page", add(queue, end - 2, IN_CREATE));
  mprotect(end - PAGE, PAGE, PROT_NONE);
  told("not to be read", add(queue, end - 2, IN_CREATE));
  told("empty", add(queue, "", IN_CREATE));
  told("4095 bytes", add(inotify_init1(0), long_path(4095), IN_CREATE));
  told("4096 bytes", add(queue, long_path(4096), IN_CREATE));
  told("5000 bytes", add(queue, long_path(5000), IN_CREATE));
  char* ends = memset(pages(1), '\n', PAGE);
  ends[PAGE - 1] = '\0';
  told("4095 ends of lines", add(queue, ends, IN_CREATE));
  memset(name, 'n', 256);
  name[256] = '\0';
  told("a name of 256", add(queue, name, IN_CREATE));
  name[255] = '\0';
  made(name, 1);
  told("a name of 255", add(queue, name, IN_CREATE));
  made("\xff\n\"\\\x01", 1);
  told("odd bytes", add(queue, "\xff\n\"\\\x01", IN_CREATE));
  told("absent", add(queue, "absent", IN_CREATE));
  told("below absent", add(queue, "absent/x", IN_CREATE));
  told("below a file", add(queue, "file/x", IN_CREATE));
  told("a file with a slash", add(queue, "file/", IN_MODIFY));
  told("a file", add(queue, "file", IN_MODIFY));
  told("the same", add(queue, "./directory/../file", IN_MODIFY));
  told("a loop", add(queue, "loop", IN_MODIFY));
  told("a loop itself", add(queue, "loop", IN_ATTRIB | IN_DONT_FOLLOW));
  told("a dangling link", add(queue, "dangling", IN_MODIFY));
  told("a link", add(queue, "link", IN_CREATE));
  told("a link itself", add(queue, "link", IN_ATTRIB | IN_DONT_FOLLOW));
  told("a link with a slash", add(queue, "link/", IN_CREATE | IN_DONT_FOLLOW));
  told("a link, only a directory", add(queue, "link", IN_CREATE | IN_DONT_FOLLOW | IN_ONLYDIR));
  told("a file, only a directory", add(queue, "file", IN_MODIFY | IN_ONLYDIR));
  told("a directory, only that", add(queue, "directory", IN_CREATE | IN_ONLYDIR));
  told("a FIFO", add(queue, "fifo", IN_MODIFY));
  told("a socket", add(queue, "socket", IN_MODIFY));
  told("a device", add(queue, "/dev/null", IN_MODIFY));
  told("/", add(queue, "/", IN_CREATE));
  told("beyond /", add(queue, "/../..", IN_CREATE));
  told("/proc/self", add(queue, "/proc/self/", IN_CREATE));
  told("a text of /proc", add(queue, "/proc/self/status", IN_MODIFY));
  told("nobody's", add(queue, "/proc/4194305", IN_MODIFY));
  told("not to be read by its mode", add(queue, "closed", IN_CREATE));
  told("below that", add(queue, "closed/x", IN_CREATE));
  told("root's", add(queue, "/root", IN_CREATE));
  told("below root's", add(queue, "/root/absent", IN_CREATE));
}

static void table_of_descriptors(int queue, int file, int directory) {
  char path[64];
  const char* kinds[] = {"/proc/self/fd/%d", "/proc/thread-self/fd/%d", "/dev/fd/%d"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    snprintf(path, sizeof path, kinds[i], directory);
    told(kinds[i], add(inotify_init1(0), path, IN_CREATE));
  }
  told("/proc/self/cwd", add(queue, "/proc/self/cwd", IN_CREATE));
  told("through it", add(queue, "/proc/self/cwd/directory", IN_CREATE));
  told("-1", add(-1, ".", IN_CREATE));
  told("closed", add(9999, ".", IN_CREATE));
  told("a file's", add(file, ".", IN_CREATE));
  told("an epoll's", add(epoll_create1(0), ".", IN_CREATE));
  told("-1 of no path", add(-1, NULL, IN_CREATE));
  told("a file's of no path", add(file, NULL, IN_CREATE));
  told("a file's of absent", add(file, "absent", IN_CREATE));
  told("more bits than an int has", add((1L << 40) | queue, ".", IN_CREATE | 1UL << 40));
  told("a copy", add(dup(queue), ".", IN_CREATE));
}

static void table_of_masks(int queue) {
  told("no mask", add(queue, ".", 0));
  told("no mask of absent", add(queue, "absent", 0));
  told("once", add(queue, "once", IN_ONESHOT));
  told("unknown bits alone", add(queue, ".", 0x00800000));
  told("unknown bits", add(queue, ".", 0x00800000 | IN_CREATE));
  told("all", add(queue, ".", 0xffffffffUL));
  told("add and create", add(queue, "new", IN_MASK_ADD | IN_MASK_CREATE | IN_OPEN));
  told("create", add(queue, "new", IN_MASK_CREATE | IN_OPEN));
  told("create again", add(queue, "new", IN_MASK_CREATE | IN_OPEN));
  told("add", add(queue, "new", IN_MASK_ADD | IN_CREATE));
  told("add to none", add(queue, "newer", IN_MASK_ADD | IN_CREATE));
}

static void table_of_removals(int queue, int file) {
  int other = inotify_init1(IN_CLOEXEC);
  long wd = add(queue, "directory", IN_CREATE);
  told("another's", inotify_rm_watch(other, (int)wd));
  told("of a file's", inotify_rm_watch(file, (int)wd));
  told("of none", inotify_rm_watch(9999, (int)wd));
  told("its own", inotify_rm_watch(queue, (int)wd));
  told("again", inotify_rm_watch(queue, (int)wd));
  told("-1", inotify_rm_watch(queue, -1));
  told("0", inotify_rm_watch(queue, 0));
  told("INT_MAX", inotify_rm_watch(queue, INT_MAX));
  told("anew", add(queue, "directory", IN_CREATE));
}

static void table_of_instances(void) {
  told("unknown flags", inotify_init1(1));
  told("all flags", inotify_init1(-1));
  int queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  printf("flags: %d %d\n", fcntl(queue, F_GETFD), fcntl(queue, F_GETFL) & O_NONBLOCK);
  queue = inotify_init1(0);
  printf("flags: %d %d\n", fcntl(queue, F_GETFD), fcntl(queue, F_GETFL) & O_NONBLOCK);
#ifdef SYS_inotify_init
  queue = (int)syscall(SYS_inotify_init);
  printf("flags: %d %d\n", fcntl(queue, F_GETFD), fcntl(queue, F_GETFL) & O_NONBLOCK);
#endif
  struct rlimit limit = {(rlim_t)queue + 1, 4096};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("setrlimit");
  told("no descriptor left", inotify_init1(0));
}

// chroot(2) leaves a process where it is: outside, here in a directory that seems to be beneath the root.
static void table_of_roots(void) {
  static _Alignas(struct inotify_event) char buffer[4096];
  const char* names[] = {"../r", "../r/b", "../r/b/x", "../rb", "../rb/x"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) close(made(names[i], 1));
  int queue = inotify_init1(IN_CLOEXEC), inside = open("../r/b/x", O_PATH), outside = open("../rb/x", O_PATH);
  if (chdir("../rb") != 0) fail("rb");
  int changed = chroot("../r");
  told("another root", changed);
  if (changed != 0) return;
  told("outside of it", add(queue, "x", IN_CREATE));
  if (mkdirat(inside, "inside", 0700) + mkdirat(outside, "outside", 0700) != 0) fail("x");
  if (read(queue, buffer, sizeof buffer) > 0) puts(((struct inotify_event*)buffer)->name);
  told("inside of it", add(inotify_init1(0), "/b/x", IN_CREATE));
  told("nothing is beyond", add(inotify_init1(0), "/../../b/x", IN_CREATE));
}

// A process that renames until this one ends. Each rename on the machine has openat2(2) give up a way through
// ".." (EAGAIN).
static void rename_on(void) {
  if (mkdir("renamed", 0755) != 0 || mkdir("renamed/a", 0755) != 0) fail("renamed");
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;)
    if (rename("renamed/a", "renamed/b") + rename("renamed/b", "renamed/a") != 0) exit(1);
}

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  rename_on();
  int queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  int file = made("file", 0), directory = made("directory", 1), closed = made("closed", 1);
  const char* names[] = {"once", "new", "newer"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) close(made(names[i], 1));
  struct sockaddr_un name = {AF_UNIX, "socket"};
  if (symlink("loop", "loop") + symlink("absent", "dangling") + symlink("directory", "link") != 0 ||
      mknod("fifo", S_IFIFO | 0600, 0) != 0 || fchmod(closed, 0) != 0 ||
      bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr*)&name, sizeof name) != 0)
    fail("what is to be watched");
  table_of_paths(queue);
  table_of_descriptors(queue, file, directory);
  table_of_masks(queue);
  table_of_removals(queue, file);
  if (chdir("directory") != 0) fail("directory");
  pid_t inside = fork();
  if (inside == 0) table_of_roots(), exit(0);
  waitpid(inside, NULL, 0);
  if (rmdir("../directory") != 0) fail("directory");
  told("where it is, which is gone", add(inotify_init1(0), ".", IN_CREATE));
  told("its own name", add(queue, "../directory", IN_CREATE));
  table_of_instances();
}
