// inotifywait as a subject of the benchmark, by the names that it prints: the modes and answers are in
// ../watchers/outside.mjs. The processor time is inotifywait's, without that of the reader of its output.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static struct {
  pid_t pid;
  clockid_t clock;
  FILE* names;
  FILE* progress;
} child;

static void die(const char* what) {
  perror(what);
  exit(1);
}

static int64_t ns_of(clockid_t clock) {
  struct timespec time;
  if (clock_gettime(clock, &time) != 0) die("clock_gettime");
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static FILE* reading(const int* pipe_ends) {
  close(pipe_ends[1]);
  return fdopen(pipe_ends[0], "r");
}

// The events that fs.watch asks for.
static void start(const char* directory, int is_tree) {
  const char* mask = "attrib,create,modify,delete,delete_self,move_self,moved_from,moved_to";
  const char* depth = is_tree ? "-mr" : "-m";
  int names[2], progress[2];
  if (pipe(names) != 0 || pipe(progress) != 0) die("pipe");
  child.pid = fork();
  if (child.pid < 0) die("fork");
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(names[1], STDOUT_FILENO);
    dup2(progress[1], STDERR_FILENO);
    execlp("inotifywait", "inotifywait", depth, "--format", "%f", "-e", mask, directory, NULL);
    die("inotifywait");
  }
  child.names = reading(names);
  child.progress = reading(progress);
  if (clock_getcpuclockid(child.pid, &child.clock) != 0) die("clock_getcpuclockid");
}

static void await_watches(void) {
  char line[256];
  while (fgets(line, sizeof line, child.progress) != NULL) {
    if (strstr(line, "Watches established") != NULL) return;
  }
  die("inotifywait has ended");
}

static double resident_mib(void) {
  char path[64];
  long pages;
  snprintf(path, sizeof path, "/proc/%d/statm", child.pid);
  FILE* file = fopen(path, "r");
  if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) die(path);
  fclose(file);
  return (double)(pages * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

static void answer(int64_t* received, long samples) {
  char name[512], previous[512] = "";
  int64_t before = ns_of(child.clock), free_at = ns_of(CLOCK_MONOTONIC), last = free_at;
  long delivered = 0;
  int in_order = 1;
  while (fgets(name, sizeof name, child.names) != NULL && strncmp(name, "last", 4) != 0) {
    // The kernel's word of an overflow would have no name: it is not printed where events are chosen by -e.
    if (*name == '\n') continue;
    delivered++;
    last = ns_of(CLOCK_MONOTONIC);
    in_order = in_order && strcmp(name, previous) >= 0;
    strcpy(previous, name);
    long number = samples > 0 ? strtol(name + strlen("event-"), NULL, 10) : 0;
    if (number < samples) received[number] = last;
  }
  printf("{\"delivered\":%ld,\"overflows\":0,\"inOrder\":%s,\"toLastMs\":%.3f,\"cpuMs\":%.3f,\"received\":[",
         delivered, in_order ? "true" : "false", (double)(last - free_at) / 1e6,
         (double)(ns_of(child.clock) - before) / 1e6);
  for (long i = 0; i < samples; i++) printf("%s%lld", i > 0 ? "," : "", (long long)received[i]);
  puts("]}");
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: printed_names until-last DIR | tree DIR | blocked DIR | latency DIR SAMPLES\n", stderr);
    return 2;
  }
  long samples = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
  int64_t* received = calloc((size_t)samples + 1, sizeof *received);
  if (received == NULL) die("calloc");
  int64_t began = ns_of(CLOCK_MONOTONIC);
  start(argv[2], strcmp(argv[1], "tree") == 0);
  await_watches();
  printf("{\"ms\":%.3f,\"MiB\":%.3f}\n", (double)(ns_of(CLOCK_MONOTONIC) - began) / 1e6, resident_mib());
  fflush(stdout);
  if (strcmp(argv[1], "blocked") == 0 && getchar() == EOF) die("stdin");
  answer(received, samples);
  kill(child.pid, SIGKILL);
  return 0;
}
