// Usage: run_reader
//
// Reads inotify(7) for another program, which writes a command a line to stdin. Answers each with a line:
//
//   add MASK PATH   both hexadecimal: "added WD" or "refused ERRNO"
//   pause, resume   reads no events from then on, or again: "added 0"
//   queued          "added BYTES" that could be read
//
// An event is written as "event WD MASK COOKIE NAME", where MASK and NAME are hexadecimal. Ends when its
// stdin does.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

static _Alignas(struct inotify_event) char buffer[65536];
static char line[16384];

static void add(int queue) {
  char* rest;
  unsigned mask = strtoul(line + strlen("add "), &rest, 16);
  char* path = rest + 1;
  size_t length = 0;
  for (const char* at = path; at[0] > ' ' && at[1] > ' '; at += 2) {
    char digits[3] = {at[0], at[1], '\0'};
    path[length++] = (char)strtoul(digits, NULL, 16);
  }
  path[length] = '\0';
  int wd = inotify_add_watch(queue, path, mask);
  printf(wd < 0 ? "refused %d\n" : "added %d\n", wd < 0 ? errno : wd);
}

static void tell(int queue) {
  long bytes = read(queue, buffer, sizeof buffer);
  for (const char* at = buffer; at < buffer + bytes;) {
    const struct inotify_event* event = (const struct inotify_event*)at;
    at += sizeof *event + event->len;
    printf("event %d %x %u ", event->wd, event->mask, event->cookie);
    for (const char* name = event->name; event->len > 0 && *name != '\0'; name++)
      printf("%02x", (unsigned char)*name);
    putchar('\n');
  }
}

int main(void) {
  int queue = inotify_init1(IN_CLOEXEC);
  struct pollfd asked[2] = {{STDIN_FILENO, POLLIN, 0}, {queue, POLLIN, 0}};
  setvbuf(stdin, NULL, _IONBF, 0);
  for (;;) {
    asked[1].revents = 0;
    poll(asked, 2, -1);
    if (asked[1].revents != 0) tell(queue);
    if (asked[0].revents != 0) {
      if (fgets(line, sizeof line, stdin) == NULL) return 0;
      int bytes = 0;
      ioctl(queue, FIONREAD, &bytes);
      if (line[0] == 'a')
        add(queue);
      else
        printf("added %d\n", line[0] == 'q' ? bytes : 0);
      if (line[0] == 'p') asked[1].fd = -1;
      if (line[0] == 'r') asked[1].fd = queue;
    }
    fflush(stdout);
  }
}
