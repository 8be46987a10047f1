// renames DIR COUNT [PER_MS]: gives one file COUNT new names in turn, "0000001" and so on: an IN_MOVED_FROM
// and an IN_MOVED_TO each, whose order shows in the names. As fast as it can, or PER_MS of them each
// millisecond.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void wait_until(struct timespec start, long ms) {
  struct timespec time = {start.tv_sec + ms / 1000, start.tv_nsec + ms % 1000 * 1000000};
  if (time.tv_nsec >= 1000000000) {
    time.tv_nsec -= 1000000000;
    time.tv_sec++;
  }
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

int main(int argc, char** argv) {
  if (argc < 3 || chdir(argv[1]) != 0) return 2;
  long count = atol(argv[2]);
  long per_ms = argc > 3 ? atol(argv[3]) : 0;
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  char from[32], to[32];
  for (long i = 0; i < count; i++) {
    if (per_ms > 0 && i % per_ms == 0) wait_until(start, i / per_ms);
    snprintf(from, sizeof from, "%07ld", i);
    snprintf(to, sizeof to, "%07ld", i + 1);
    if (rename(from, to) != 0) {
      perror("rename");
      return 1;
    }
  }
  return 0;
}
