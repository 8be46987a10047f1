// The load of the benchmark. Every mode works on names "event-000000", "event-000001", ... of a directory and
// prints JSON, a document a line.
//
// writer storm DIR EVENTS [LEAVES]   creates and unlinks, each name in turn, as fast as it can: {"wallMs"};
// in so many directories
//                                    of a tree (see ../tree.mjs) by turns, where they are given
// writer burst DIR FILES             creates that many, as fast as it can: {"wallMs"}
// writer paced DIR RATE MS           makes its files, says {"ready"}, waits for a byte on stdin; then writes
// RATE times a
//                                    second, evenly, for so long: {"events"}
// writer fill DIR EVENTS GO DONE     makes its files, says {"ready"}; then for every byte read from the FIFO
// GO writes
//                                    into EVENTS of them, and a byte into the FIFO DONE
// writer lone DIR SAMPLES SEED       makes its files, says {"ready"}, waits for a byte on stdin; then writes
// into each
//                                    of SAMPLES files after a random pause: {"sent": [CLOCK_MONOTONIC in ns,
//                                    ...]}
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Files a fill writes into by turns: the kernel merges equal events only when they are neighbours, so few
// suffice.
enum { FILL_NAMES = 500 };

static void die(const char* what) {
  perror(what);
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static const char* event_name(long index) {
  static char name[32];
  snprintf(name, sizeof name, "event-%06ld", index);
  return name;
}

static int open_event(long index, int flags) {
  int descriptor = open(event_name(index), O_WRONLY | O_CLOEXEC | flags, 0600);
  if (descriptor < 0) die(event_name(index));
  return descriptor;
}

// One byte at the start: the file never grows, and a subject that watches for writes sees exactly one event.
static void write_event(int descriptor) {
  if (pwrite(descriptor, "x", 1, 0) != 1) die("pwrite");
}

static void say_ready(void) {
  puts("{\"ready\":true}");
  fflush(stdout);
}

// The name, or where it lies in a tree of so many directories.
static const char* path_of_event(long index, long leaves) {
  static char path[80];
  if (leaves == 0) return event_name(index);
  long leaf = index % leaves;
  snprintf(path, sizeof path, "area-%ld/directory-%ld/%s", leaf / 1000, leaf % 1000, event_name(index));
  return path;
}

static void storm(long events, long leaves) {
  int64_t start = now_ns();
  for (long i = 0; i < events / 2; i++) {
    const char* path = path_of_event(i, leaves);
    int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_CREAT, 0600);
    if (descriptor < 0 || close(descriptor) != 0 || unlink(path) != 0) die(path);
  }
  printf("{\"wallMs\":%.3f}\n", (double)(now_ns() - start) / 1e6);
}

static void burst(long files) {
  int64_t start = now_ns();
  for (long i = 0; i < files; i++) close(open_event(i, O_CREAT));
  printf("{\"wallMs\":%.3f}\n", (double)(now_ns() - start) / 1e6);
}

static void fill(long events, const char* go_path, const char* done_path) {
  static int files[FILL_NAMES];
  for (long i = 0; i < FILL_NAMES; i++) {
    files[i] = open_event(i, O_CREAT);
  }
  say_ready();

  // Opening a FIFO waits for its other end, and the reader's exit is the end of file: no other signal is
  // needed.
  int go = open(go_path, O_RDONLY);
  int done = open(done_path, O_WRONLY);
  if (go < 0 || done < 0) die("fifo");
  for (char byte; read(go, &byte, 1) == 1;) {
    for (long i = 0; i < events; i++) {
      write_event(files[i % FILL_NAMES]);
    }
    if (write(done, "d", 1) != 1) die("done");
  }
}

// 3 to 7 ms: longer than any batching window, so that each event is a lone one, and in step with no timer.
static void pause_randomly(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  struct timespec gap = {.tv_nsec = 3000000 + (long)(*state % 4000000)};
  nanosleep(&gap, NULL);
}

static void lone(long samples, uint32_t seed) {
  int64_t* sent = calloc((size_t)samples, sizeof *sent);
  if (sent == NULL) die("calloc");
  for (long i = 0; i < samples; i++) {
    close(open_event(i, O_CREAT));
  }
  say_ready();
  char byte;
  if (read(STDIN_FILENO, &byte, 1) != 1) die("stdin");

  for (long i = 0; i < samples; i++) {
    int descriptor = open_event(i, 0);
    pause_randomly(&seed);
    sent[i] = now_ns();
    write_event(descriptor);
    close(descriptor);
  }
  for (long i = 0; i < samples; i++) {
    printf("%s%lld", i == 0 ? "{\"sent\":[" : ",", (long long)sent[i]);
  }
  puts("]}");
}

static void paced(long rate, long ms) {
  static int files[FILL_NAMES];
  for (int i = 0; i < FILL_NAMES; i++) files[i] = open_event(i, O_CREAT);
  say_ready();
  if (getchar() == EOF) return;
  long events = rate * ms / 1000;
  int64_t start = now_ns();
  for (long i = 0; i < events; i++) {
    int64_t due = start + i * 1000000000 / rate;
    // Sleeping takes some 60 us more than requested: events that are due by then are written at once.
    if (due > now_ns()) {
      struct timespec until = {due / 1000000000, due % 1000000000};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
    }
    write_event(files[i % FILL_NAMES]);
  }
  printf("{\"events\":%ld}\n", events);
}

int main(int argc, char** argv) {
  const char* mode = argc >= 4 ? argv[1] : "";
  if (*mode != '\0' && chdir(argv[2]) != 0) die(argv[2]);
  if (strcmp(mode, "storm") == 0 && argc >= 4) {
    storm(strtol(argv[3], NULL, 10), argc > 4 ? strtol(argv[4], NULL, 10) : 0);
  } else if (strcmp(mode, "burst") == 0 && argc == 4) {
    burst(strtol(argv[3], NULL, 10));
  } else if (strcmp(mode, "paced") == 0 && argc == 5) {
    paced(strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10));
  } else if (strcmp(mode, "fill") == 0 && argc == 6) {
    fill(strtol(argv[3], NULL, 10), argv[4], argv[5]);
  } else if (strcmp(mode, "lone") == 0 && argc == 5) {
    // xorshift has one seed that it never leaves: 0.
    lone(strtol(argv[3], NULL, 10), (uint32_t)strtoul(argv[4], NULL, 10) | 1);
  } else {
    fputs(
        "usage: writer storm DIR EVENTS [LEAVES] | burst DIR FILES | paced DIR RATE MS | fill DIR EVENTS GO "
        "DONE | "
        "lone DIR SAMPLES "
        "SEED\n",
        stderr);
    return 2;
  }
  return 0;
}
