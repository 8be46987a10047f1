// Usage: run_hostile DIRECTORY SECONDS
//
// A hostile program, for test/run. Its threads and processes make calls of all kinds for SECONDS, while
// others change the arguments, take the memory away, interrupt and kill them. Prints "N calls", and then
// "heard" if a new watch has events.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_calls.h"

enum { PAGES = 4, THREADS = 4, PROCESSES = 3 };

static struct timespec end;
static char* shared;
static _Atomic long calls;

static int is_over(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec);
}

// All processes have the same, and make few others: a user may have 128, and other tests need some.
static _Atomic int queues[8];

// A descriptor, often of an instance.
static int any_queue(unsigned* seed) {
  int i = rand_r(seed) % 8;
  if (rand_r(seed) % 4096 == 0) {
    close(queues[i]);
    queues[i] = inotify_init1(rand_r(seed) % 2 ? IN_NONBLOCK : IN_NONBLOCK | IN_CLOEXEC);
  }
  return rand_r(seed) % 16 == 0 ? rand_r(seed) % 40 - 1 : queues[i];
}

static const char* any_path(unsigned* seed) {
  static const char* const kPaths[] = {".",     "0",  "1/2", "link", "/proc/self/fd/1", "/proc/self/cwd/0",
                                       "..//.", "0/", ""};
  switch (rand_r(seed) % 4) {
    case 0:
      return kPaths[(size_t)rand_r(seed) % (sizeof kPaths / sizeof *kPaths)];
    case 1:
      // Another thread writes to this memory, or takes it away.
      return shared + rand_r(seed) % (PAGES * PAGE + 64);
    case 2:
      return shared + PAGES * PAGE - rand_r(seed) % 8;
    default:
      return (const char*)((uintptr_t)rand_r(seed) << rand_r(seed) % 34);
  }
}

static void call(unsigned* seed) {
  static const unsigned kMasks[] = {IN_ALL_EVENTS, IN_ALL_EVENTS | IN_ONESHOT, IN_CREATE | IN_MASK_ADD,
                                    IN_MODIFY | IN_MASK_CREATE, IN_ALL_EVENTS | IN_ONLYDIR};
  char events[4096];
  int queue = any_queue(seed);
  unsigned mask = rand_r(seed) % 4 ? kMasks[rand_r(seed) % 5] : (unsigned)rand_r(seed) * 2654435761u;
  long wd = add(queue, any_path(seed), mask);
  if (rand_r(seed) % 2) inotify_rm_watch(queue, rand_r(seed) % 4 ? (int)wd : rand_r(seed) % 64 - 4);
  // Any other descriptor may be one that is waited for.
  int flags = fcntl(queue, F_GETFL);
  if (queue > 2 && flags >= 0 && (flags & O_NONBLOCK) != 0 && read(queue, events, sizeof events) < 0)
    errno = 0;
  calls++;
}

static void* brief(void* seed) {
  call(seed);
  return NULL;
}

static void* caller(void* argument) {
  unsigned seed = (unsigned)(uintptr_t)argument;
  while (!is_over()) {
    call(&seed);
    pthread_t thread;
    if (rand_r(&seed) % 16 != 0 || pthread_create(&thread, NULL, brief, &seed) != 0) continue;
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
  }
  return NULL;
}

// Changes paths while they are read, and takes away the memory that they are in.
static void* changer(void* argument) {
  unsigned seed = (unsigned)(uintptr_t)argument;
  static const char kBytes[] = "0123./x\n\"\0\xff";
  while (!is_over()) {
    usleep((unsigned)rand_r(&seed) % 200);
    char* page = shared + rand_r(&seed) % PAGES * PAGE;
    if (rand_r(&seed) % 8 == 0) mmap(page, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (int i = 0; i < PAGE; i++)
      page[i] = rand_r(&seed) % 64 ? "./"[i % 2] : kBytes[rand_r(&seed) % (int)sizeof kBytes];
  }
  return NULL;
}

// Makes, moves and removes watched entries. Not as fast as it can: the supervisor needs time for the calls.
static void* mover(void* argument) {
  unsigned seed = (unsigned)(uintptr_t)argument;
  while (!is_over()) {
    char from[32], to[32];
    usleep((unsigned)rand_r(&seed) % 2000);
    snprintf(from, sizeof from, rand_r(&seed) % 2 ? "%d" : "%d/%d", rand_r(&seed) % 4, rand_r(&seed) % 4);
    snprintf(to, sizeof to, rand_r(&seed) % 2 ? "%d" : "%d/%d", rand_r(&seed) % 4, rand_r(&seed) % 4);
    switch (rand_r(&seed) % 4) {
      case 0:
        mkdir(from, 0700);
        break;
      case 1:
        close(open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        break;
      case 2:
        rename(from, to);
        break;
      default:
        remove(from);
    }
  }
  return NULL;
}

static void ignore(int signal) {
  (void)signal;
}

static void calling(unsigned seed) {
  pthread_t threads[THREADS + 2];
  signal(SIGUSR1, ignore);
  shared = pages(PAGES);
  for (int i = 0; i < THREADS + 2; i++) {
    void* own = (void*)(uintptr_t)(seed + (unsigned)i);
    if (pthread_create(&threads[i], NULL, i == 0 ? changer : i == 1 ? mover : caller, own) != 0)
      fail("pthread_create");
  }
  for (int i = 0; i < THREADS + 2; i++) pthread_join(threads[i], NULL);
}

static pid_t forked(unsigned seed) {
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  calling(seed);
  _exit(0);
}

// Kills processes that call, and lets others begin, for as long as this one calls.
static void killer(unsigned seed) {
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) children[i] = forked((unsigned)rand_r(&seed));
  while (!is_over()) {
    int i = rand_r(&seed) % PROCESSES;
    usleep((unsigned)rand_r(&seed) % 20000);
    kill(children[i], SIGKILL);
    waitpid(children[i], NULL, 0);
    children[i] = forked((unsigned)rand_r(&seed));
  }
  for (int i = 0; i < PROCESSES; i++) kill(children[i], SIGKILL), waitpid(children[i], NULL, 0);
}

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) return 2;
  unsigned seed = (unsigned)getpid();
  if (symlink("0", "link") != 0) fail("link");
  for (int i = 0; i < 8; i++) queues[i] = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += atoi(argv[2]);
  // Before there are threads: a process that is forked beside them keeps their locks.
  pid_t killing = fork();
  if (killing == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    killer(seed);
    _exit(0);
  }
  calling(seed + 1);
  waitpid(killing, NULL, 0);
  printf("%ld calls\n", (long)calls);
  static _Alignas(struct inotify_event) char buffer[4096];
  int queue = inotify_init1(IN_CLOEXEC);
  if (queue < 0) fail("inotify_init1");
  if (mkdir("last", 0700) != 0 || add(queue, "last", IN_CREATE) < 0 || mkdir("last/x", 0700) != 0)
    fail("last");
  if (read(queue, buffer, sizeof buffer) > 0 && strcmp(((struct inotify_event*)buffer)->name, "x") == 0)
    puts("heard");
}
