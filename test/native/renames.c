// renames DIR STEP...: gives one file new names in turn, "0000001" and so on: an IN_MOVED_FROM and an
// IN_MOVED_TO each, whose order shows in the names. STEP is one of
//   COUNT         as fast as it can
//   COUNT/PER_MS  PER_MS of them each millisecond
//   COUNT:BYTES   then waits, up to a minute before SIGALRM, until a reader has left at most BYTES in the
//                 queue of the inotify instance that is descriptor 3
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static long done;

static void wait_until(struct timespec start, long ms) {
  struct timespec time = {start.tv_sec + ms / 1000, start.tv_nsec + ms % 1000 * 1000000};
  if (time.tv_nsec >= 1000000000) {
    time.tv_nsec -= 1000000000;
    time.tv_sec++;
  }
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void rename_once(void) {
  char from[32], to[32];
  snprintf(from, sizeof from, "%07ld", done);
  snprintf(to, sizeof to, "%07ld", ++done);
  if (rename(from, to) != 0) {
    perror("rename");
    exit(1);
  }
}

static void wait_for_reader(int bytes) {
  for (int queued; ioctl(3, FIONREAD, &queued) == 0;) {
    if (queued <= bytes) return;
    usleep(200);
  }
  perror("FIONREAD");
  exit(1);
}

int main(int argc, char** argv) {
  if (argc < 3 || chdir(argv[1]) != 0) return 2;
  for (int step = 2; step < argc; step++) {
    long count = atol(argv[step]);
    const char* rate = strchr(argv[step], '/');
    const char* bytes = strchr(argv[step], ':');
    long per_ms = rate != NULL ? atol(rate + 1) : 0;
    if (bytes != NULL) alarm(60);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < count; i++) {
      if (per_ms > 0 && i % per_ms == 0) wait_until(start, i / per_ms);
      rename_once();
    }
    if (bytes != NULL) {
      wait_for_reader(atoi(bytes + 1));
      alarm(0);
    }
  }
  return 0;
}
