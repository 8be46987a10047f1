// Plays a neighbour who may write a directory: take_names DIR PREFIX.
//
// Waits for another user's entries whose names begin with PREFIX, moves each away to taken-N and puts a
// directory that all may write in its place. Prints "ready", then a line for each such entry. Ends with its
// stdin.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char** arguments) {
  if (count != 3 || chdir(arguments[1]) != 0) return 2;
  const char* prefix = arguments[2];
  int inotify = inotify_init1(IN_NONBLOCK);
  if (inotify < 0 || inotify_add_watch(inotify, ".", IN_CREATE | IN_MOVED_TO) < 0) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  umask(0);
  puts("ready");
  struct pollfd waiting[] = {{inotify, POLLIN, 0}, {0, POLLIN, 0}};
  for (int taken = 0;;) {
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return 1;
    if (waiting[1].revents != 0) return 0;
    char buffer[65536] __attribute__((aligned(8)));
    ssize_t bytes = read(inotify, buffer, sizeof buffer);
    for (char* at = buffer; at < buffer + bytes;) {
      struct inotify_event* event = (struct inotify_event*)at;
      at += sizeof *event + event->len;
      if (event->len == 0 || strncmp(event->name, prefix, strlen(prefix)) != 0) continue;
      struct stat there;
      if (lstat(event->name, &there) != 0 || there.st_uid == geteuid()) continue;
      char away[64];
      snprintf(away, sizeof away, "taken-%d", taken);
      if (rename(event->name, away) != 0) continue;
      mkdir(event->name, 0777);
      printf("%s\n", event->name);
      taken++;
    }
  }
}
