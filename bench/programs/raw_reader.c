// The benchmark's yardstick: inotify(7) by epoll and 64 KiB reads, with nothing in between. Answers the same
// questions as subject.mjs, in the same JSON lines. {"ready"} is the first line, and the answer the last.
//
// raw_reader capacity DIR GO DONE FILLS EVENTS
//   prints {"blockedMs": [...], "drainMs": [...]}: FILLS times, has the queue filled (see writer.c), then
//   drains the queue
// raw_reader until-last DIR WINDOW_MS [LEAVES]
//   prints {"delivered", "overflows", "cpuMs"}: reads until a name begins with "last". With LEAVES, watches
//   that many directories of a tree as well (see ../tree.mjs). With a window, sleeps that long between reads
//   while events keep coming
// raw_reader burst DIR
//   does the same with a window of 1 ms, for new names alone, with statx(2)
// raw_reader latency DIR SAMPLES
//   prints {"received": [...]}: CLOCK_MONOTONIC in ns at which event-N was seen
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// The mask that libuv uses for fs.watch: all subjects get the same events from the kernel.
enum {
  FS_WATCH_MASK = IN_ATTRIB | IN_CREATE | IN_MODIFY | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |
                  IN_MOVED_FROM | IN_MOVED_TO
};

static struct {
  int queue;
  int epoll;
  long delivered;
  long overflows;
  int last;           // a name that begins with "last" has been seen
  int64_t* received;  // by the number in the name; NULL where nobody asks for times
  long samples;
  int directory;       // where statx(2) is asked for each new name; -1: it is not
  uint64_t looked_at;  // wd, mask and name of each event go in, so that no compiler leaves the looking out
} reader = {.directory = -1};

static void die(const char* what) {
  perror(what);
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static double cpu_ms(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static void watch_directory(const char* path, uint32_t mask) {
  struct epoll_event interest = {.events = EPOLLIN};
  reader.queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  reader.epoll = epoll_create1(EPOLL_CLOEXEC);
  if (reader.queue < 0 || reader.epoll < 0) die("inotify_init1, epoll_create1");
  if (epoll_ctl(reader.epoll, EPOLL_CTL_ADD, reader.queue, &interest) != 0) die("epoll_ctl");
  if (inotify_add_watch(reader.queue, path, mask) < 0) die(path);
}

static void watch_leaves(const char* tree, long leaves) {
  char path[4096];
  for (long i = 0; i < leaves; i++) {
    snprintf(path, sizeof path, "%s/area-%ld/directory-%ld", tree, i / 1000, i % 1000);
    if (inotify_add_watch(reader.queue, path, FS_WATCH_MASK) < 0) die(path);
  }
}

static void say_ready(void) {
  puts("{\"ready\":true}");
  fflush(stdout);
}

static void look_at(const struct inotify_event* event) {
  const char* name = event->len > 0 ? event->name : "";
  reader.looked_at += (uint64_t)event->wd + event->mask + strlen(name);
  if (strncmp(name, "last", 4) == 0) {
    reader.last = 1;
    return;
  }
  if (event->mask & IN_Q_OVERFLOW) {
    reader.overflows++;
    return;
  }
  if (reader.directory >= 0) {
    struct statx facts;
    if (!(event->mask & IN_CREATE)) return;
    if (statx(reader.directory, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &facts) == 0)
      reader.looked_at += facts.stx_ino;
  }
  reader.delivered++;
  if (reader.received == NULL) return;
  long index = strtol(name + strlen("event-"), NULL, 10);
  if (index < reader.samples) reader.received[index] = now_ns();
}

// Reads once. Returns 0 if the queue was empty.
static int read_events(void) {
  static _Alignas(struct inotify_event) char buffer[64 * 1024];
  ssize_t size = read(reader.queue, buffer, sizeof buffer);
  if (size < 0 && errno == EAGAIN) return 0;
  if (size < 0) die("read");
  for (const char* next = buffer; next < buffer + size;) {
    const struct inotify_event* event = (const struct inotify_event*)next;
    look_at(event);
    next += sizeof *event + event->len;
  }
  return 1;
}

static void wait_for_events(void) {
  struct epoll_event ready;
  while (epoll_wait(reader.epoll, &ready, 1, -1) < 0) {
    if (errno != EINTR) die("epoll_wait");
  }
}

static void read_until_last(long window_ms) {
  struct timespec window = {.tv_nsec = window_ms * 1000000};
  while (!reader.last) {
    wait_for_events();
    // Reads the first event at once. Only while more events come, the window lets them gather.
    while (read_events() && window_ms > 0 && !reader.last) nanosleep(&window, NULL);
  }
}

static void print_array(const char* before, const int64_t* values, long count, double divisor,
                        const char* after) {
  fputs(before, stdout);
  for (long i = 0; i < count; i++) {
    printf("%s%.*f", i == 0 ? "" : ",", divisor == 1 ? 0 : 6, (double)values[i] / divisor);
  }
  fputs(after, stdout);
}

static int64_t* allocate_times(long count) {
  int64_t* times = calloc((size_t)count, sizeof *times);
  if (times == NULL) die("calloc");
  return times;
}

static void answer_capacity(const char* go_path, const char* done_path, long fills, long events) {
  int64_t* blocked = allocate_times(fills);
  int64_t* drain = allocate_times(fills);
  int go = open(go_path, O_WRONLY);
  int done = open(done_path, O_RDONLY);
  if (go < 0 || done < 0) die("fifo");
  for (long i = 0; i < fills; i++) {
    char byte;
    int64_t filling = now_ns();
    if (write(go, "g", 1) != 1 || read(done, &byte, 1) != 1) die("fill");
    int64_t start = now_ns();
    blocked[i] = start - filling;
    for (long end = reader.delivered + events; reader.delivered < end;) {
      wait_for_events();
      read_events();
    }
    drain[i] = now_ns() - start;
  }
  print_array("{\"blockedMs\":[", blocked, fills, 1e6, "],");
  print_array("\"drainMs\":[", drain, fills, 1e6, "]}\n");
}

static void answer_until_last(long window_ms) {
  double before = cpu_ms();
  read_until_last(window_ms);
  printf("{\"delivered\":%ld,\"overflows\":%ld,\"cpuMs\":%.3f}\n", reader.delivered, reader.overflows,
         cpu_ms() - before);
}

static void answer_latency(long samples) {
  read_until_last(0);
  print_array("{\"received\":[", reader.received, samples, 1, "]}\n");
}

int main(int argc, char** argv) {
  const char* mode = argc >= 3 ? argv[1] : "";
  // The end of a write as well, which watch() also asks for.
  uint32_t more = strcmp(mode, "burst") == 0 ? IN_CLOSE_WRITE : 0;
  if (*mode != '\0') watch_directory(argv[2], FS_WATCH_MASK | more);
  if (strcmp(mode, "capacity") == 0 && argc == 7) {
    say_ready();
    answer_capacity(argv[3], argv[4], strtol(argv[5], NULL, 10), strtol(argv[6], NULL, 10));
  } else if (strcmp(mode, "until-last") == 0 && (argc == 4 || argc == 5)) {
    if (argc == 5) watch_leaves(argv[2], strtol(argv[4], NULL, 10));
    say_ready();
    answer_until_last(strtol(argv[3], NULL, 10));
  } else if (strcmp(mode, "burst") == 0 && argc == 3) {
    reader.directory = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (reader.directory < 0) die(argv[2]);
    say_ready();
    answer_until_last(1);
  } else if (strcmp(mode, "latency") == 0 && argc == 4) {
    reader.samples = strtol(argv[3], NULL, 10);
    reader.received = allocate_times(reader.samples);
    say_ready();
    answer_latency(reader.samples);
  } else {
    fputs(
        "usage: raw_reader capacity DIR GO DONE FILLS EVENTS | until-last DIR WINDOW_MS [LEAVES] | burst DIR "
        "| latency "
        "DIR "
        "SAMPLES\n",
        stderr);
    return 2;
  }
  // A use of the sum, which the compiler would drop otherwise. This is never printed.
  if (reader.looked_at == 0) fputs("raw_reader: saw nothing\n", stderr);
  return 0;
}
