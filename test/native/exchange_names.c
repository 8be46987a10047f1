// Plays another user of a directory that all may write to: waits for each entry whose name begins with
// PREFIX, and gives its name to another entry at once.
//
//   exchange_names DIRECTORY PREFIX SUBDIRECTORY FILE...
//
// SUBDIRECTORY changes places with a directory. A FILE that is still there is renamed over any other entry.
// Prints "ready", and at the end of its stdin how often it was in time. Begins as root and goes on as user
// 65534: the way to this program may be open to root alone.

#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *prefix, *subdirectory;
static char** files;

static int exchange(int directory, const struct inotify_event* event) {
  if (event->len == 0 || strncmp(event->name, prefix, strlen(prefix)) != 0) return 0;
  // 2 is RENAME_EXCHANGE, for which glibc has a name since 2.28.
  if ((event->mask & IN_ISDIR) != 0)
    return syscall(SYS_renameat2, directory, subdirectory, directory, event->name, 2) == 0;
  for (char** file = files; *file != NULL; file++)
    if (renameat(directory, *file, directory, event->name) == 0) return 1;
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 5) errx(2, "DIRECTORY PREFIX SUBDIRECTORY FILE...");
  prefix = argv[2];
  subdirectory = argv[3];
  files = argv + 4;
  if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0) err(1, "setuid");
  int directory = open(argv[1], O_PATH | O_DIRECTORY);
  int queue = inotify_init1(IN_NONBLOCK);
  if (directory < 0 || queue < 0 || inotify_add_watch(queue, argv[1], IN_CREATE) < 0) err(1, "%s", argv[1]);
  puts("ready");
  fflush(stdout);
  long exchanged = 0;
  struct pollfd fds[] = {{queue, POLLIN, 0}, {0, POLLIN, 0}};
  while ((fds[1].revents & (POLLIN | POLLHUP)) == 0) {
    char buffer[64 * 1024] __attribute__((aligned(8)));
    ssize_t bytes = read(queue, buffer, sizeof buffer);
    for (ssize_t at = 0; at < bytes;) {
      const struct inotify_event* event = (const struct inotify_event*)(buffer + at);
      exchanged += exchange(directory, event);
      at += (ssize_t)sizeof *event + event->len;
    }
    // Polls without a sleep: waking up would take too long.
    if (poll(fds, 2, 0) < 0 && errno != EINTR) err(1, "poll");
  }
  printf("%ld\n", exchanged);
  return 0;
}
