// Usage: swapper PROGRAM DIRECTORY AWAY TARGET
//
// Says "ready", waits until PROGRAM is opened, as it is when it is started, and puts a symlink to TARGET in
// the place of DIRECTORY, which is moved to AWAY.
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char events[4096];
  if (argc != 5) return 2;
  int queue = inotify_init1(IN_CLOEXEC);
  if (queue < 0 || inotify_add_watch(queue, argv[1], IN_OPEN) < 0) return perror("inotify"), 1;
  puts("ready");
  fflush(stdout);
  if (read(queue, events, sizeof events) < 0) return perror("read"), 1;
  if (rename(argv[2], argv[3]) != 0 || symlink(argv[4], argv[2]) != 0) return perror("swap"), 1;
  return 0;
}
