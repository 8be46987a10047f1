// Usage: reader PATH...
//
// The differential test's other side: inotify(7) as plain as C has it. Watches every PATH with IN_ALL_EVENTS
// in the order given, prints "ready", then a line an event, "wd mask cookie hex-of-name", until a name is
// "sentinel".
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static void print_event(const struct inotify_event* event) {
  printf("%d %u %u ", event->wd, event->mask, event->cookie);
  // len counts the padding behind the name; the name itself ends at its first NUL.
  for (const char* byte = event->name; event->len > 0 && *byte != '\0'; byte++) {
    printf("%02x", (unsigned char)*byte);
  }
  putchar('\n');
}

static int is_sentinel(const struct inotify_event* event) {
  return event->len > 0 && strcmp(event->name, "sentinel") == 0;
}

int main(int argc, char** argv) {
  int queue = inotify_init1(IN_CLOEXEC);
  if (queue < 0) {
    perror("inotify_init1");
    return 1;
  }
  for (int i = 1; i < argc; i++) {
    if (inotify_add_watch(queue, argv[i], IN_ALL_EVENTS) < 0) {
      perror(argv[i]);
      return 1;
    }
  }
  puts("ready");
  fflush(stdout);

  static _Alignas(struct inotify_event) char buffer[64 * 1024];
  for (;;) {
    ssize_t size = read(queue, buffer, sizeof buffer);
    if (size < 0) {
      perror("read");
      return 1;
    }
    for (const char* next = buffer; next < buffer + size;) {
      const struct inotify_event* event = (const struct inotify_event*)next;
      print_event(event);
      // The first one ends the log: how many more of it are in this buffer is a matter of time.
      if (is_sentinel(event)) return 0;
      next += sizeof *event + event->len;
    }
    fflush(stdout);
  }
}
