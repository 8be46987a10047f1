// Usage: run_load WHAT DIRECTORY [N [INSTANCES]]
//
// A program for `run` to serve, for test/run. Each says "ready" when it has all that it is to have, and ends
// when its stdin does.
//
//   cycles     adds and removes a watch of DIRECTORY N times
//   instances  opens and closes N inotify instances, a watch of DIRECTORY in each
//   watches    watches DIRECTORY/0 to DIRECTORY/N-1, in turn by INSTANCES instances, and says "NUMBER NAME"
//   of each event held       watches DIRECTORY by N instances, and closes all when a line comes: then it says
//   "closed" unread     watches DIRECTORY, reads nothing until a line comes, and then says "N events" and
//   "overflow" if that was the last processes  has N processes that add a watch of DIRECTORY each, and say
//   the name of the first event that comes storm      has N processes that add and remove watches, make and
//   remove files, and read, until they are killed
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 65536, ALL = IN_ALL_EVENTS };
static const char* directory;
static int count, instances;
static _Alignas(struct inotify_event) char buffer[65536];

static void fail(const char* what) {
  printf("%s: %s\n", what, strerror(errno));
  exit(1);
}

static int add(int queue, const char* path, unsigned mask) {
  int wd = inotify_add_watch(queue, path, mask);
  if (wd < 0) fail(path);
  return wd;
}

static int open_queue(int flags) {
  int queue = inotify_init1(flags | IN_CLOEXEC);
  if (queue < 0) fail("inotify_init1");
  return queue;
}

static void say(const char* what) {
  puts(what);
  fflush(stdout);
}

static void await_line(void) {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
  }
}

static void cycles(void) {
  int queue = open_queue(IN_NONBLOCK);
  for (int i = 0; i < count; i++)
    if (inotify_rm_watch(queue, add(queue, directory, ALL)) != 0) fail("inotify_rm_watch");
}

static void many_instances(void) {
  for (int i = 0; i < count; i++) {
    int queue = open_queue(0);
    add(queue, directory, ALL);
    close(queue);
  }
}

static void watches(void) {
  static int numbers[16][MOST];
  struct pollfd ready[17] = {{STDIN_FILENO, POLLIN, 0}};
  for (int i = 0; i < instances; i++) ready[i + 1] = (struct pollfd){open_queue(IN_NONBLOCK), POLLIN, 0};
  for (int i = 0; i < count; i++) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d", directory, i);
    numbers[i % instances][add(ready[i % instances + 1].fd, path, IN_CREATE)] = i;
  }
  say("ready");
  for (;;) {
    poll(ready, (nfds_t)instances + 1, -1);
    if (ready[0].revents != 0) return;
    for (int i = 0; i < instances; i++) {
      ssize_t size = read(ready[i + 1].fd, buffer, sizeof buffer);
      for (const char* next = buffer; next < buffer + size;) {
        const struct inotify_event* event = (const struct inotify_event*)next;
        printf("%d %s\n", event->wd < 0 ? -1 : numbers[i][event->wd], event->len > 0 ? event->name : "");
        next += sizeof *event + event->len;
      }
    }
    fflush(stdout);
  }
}

static void held(void) {
  int* queues = calloc((size_t)count, sizeof *queues);
  for (int i = 0; i < count; i++) add(queues[i] = open_queue(0), directory, ALL);
  say("ready");
  await_line();
  for (int i = 0; i < count; i++) close(queues[i]);
  say("closed");
}

static void unread(void) {
  int queue = open_queue(IN_NONBLOCK);
  add(queue, directory, ALL);
  say("ready");
  await_line();
  unsigned last = 0;
  int events = 0;
  for (ssize_t size; (size = read(queue, buffer, sizeof buffer)) > 0;)
    for (const char* next = buffer; next < buffer + size; events++) {
      const struct inotify_event* event = (const struct inotify_event*)next;
      last = event->mask;
      next += sizeof *event + event->len;
    }
  printf("%d events\n", events);
  say((last & IN_Q_OVERFLOW) != 0 ? "overflow" : "none lost");
}

static void processes(void) {
  int ready[2];
  if (pipe(ready) != 0) fail("pipe");
  for (int i = 0; i < count; i++) {
    if (fork() != 0) continue;
    int queue = open_queue(0);
    add(queue, directory, IN_CREATE);
    if (write(ready[1], "", 1) != 1) fail("write");
    ssize_t size = read(queue, buffer, sizeof buffer);
    say(size > 0 ? ((struct inotify_event*)buffer)->name : "nothing");
    exit(0);
  }
  char byte;
  for (int i = 0; i < count; i++)
    if (read(ready[0], &byte, 1) != 1) fail("read");
  say("ready");
  while (wait(NULL) > 0) {
  }
}

static void storm(void) {
  const pid_t first = getpid();
  for (int i = 1; i < count; i++)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // The first process may have been killed before the prctl().
      if (getppid() != first) exit(0);
      break;
    }
  srand((unsigned)getpid());
  say("ready");
  for (;;) {
    // Once the supervisor has gone all of these fail.
    int queue = inotify_init1(IN_NONBLOCK);
    if (queue < 0) exit(1);
    for (int i = 0; i < 50; i++) {
      char path[PATH_MAX];
      snprintf(path, sizeof path, "%s/%d", directory, rand() % 8);
      int wd = inotify_add_watch(queue, rand() % 2 ? directory : path, ALL);
      if (rand() % 2) inotify_rm_watch(queue, wd);
      int fd = open(path, O_WRONLY | O_CREAT, 0600);
      if (write(fd, "x", 1) == 1 && rand() % 2) unlink(path);
      close(fd);
      if (rand() % 4 == 0) {
        char to[PATH_MAX];
        snprintf(to, sizeof to, "%s/%d", directory, rand() % 8);
        rename(path, to);
      }
      while (rand() % 4 != 0 && read(queue, buffer, sizeof buffer) > 0) {
      }
    }
    if (rand() % 8 != 0) close(queue);
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*what)(void);
  } all[] = {{"cycles", cycles}, {"instances", many_instances}, {"watches", watches}, {"held", held},
             {"unread", unread}, {"processes", processes},      {"storm", storm}};
  if (argc < 3) return 2;
  directory = argv[2];
  count = argc > 3 ? atoi(argv[3]) : 1;
  instances = argc > 4 ? atoi(argv[4]) : 1;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(all[i].name, argv[1]) != 0) continue;
    all[i].what();
    if (all[i].what == cycles || all[i].what == many_instances) say("ready");
    await_line();
    return 0;
  }
  return 2;
}
