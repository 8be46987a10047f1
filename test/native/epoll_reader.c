// Usage: epoll_reader MASK DIRECTORY
//
// Watches a directory as Go's fsnotify does, for the events of MASK, in hexadecimal: does not block, is woken
// by an edge, reads until there is no more. Says "ready", then a line an event, "mask name", the mask in
// hexadecimal as well.
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static _Alignas(struct inotify_event) char buffer[4096];
  if (argc != 3) return 2;
  int queue = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), poller = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event wanted = {.events = EPOLLIN | EPOLLET}, woken;
  if (epoll_ctl(poller, EPOLL_CTL_ADD, queue, &wanted) != 0) return perror("epoll"), 1;
  if (inotify_add_watch(queue, argv[2], (uint32_t)strtoul(argv[1], NULL, 16)) < 0) return perror(argv[2]), 1;
  puts("ready");
  for (;;) {
    fflush(stdout);
    if (epoll_wait(poller, &woken, 1, -1) < 0) return perror("epoll_wait"), 1;
    for (ssize_t size; (size = read(queue, buffer, sizeof buffer)) > 0;)
      for (const char* next = buffer; next < buffer + size;) {
        const struct inotify_event* event = (const struct inotify_event*)next;
        printf("%x %s\n", event->mask, event->len > 0 ? event->name : "");
        next += sizeof *event + event->len;
      }
  }
}
