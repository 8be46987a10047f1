// Shared by the programs that make calls of all kinds under `run`.
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void fail(const char* what) {
  printf("%s: %s\n", what, strerror(errno));
  exit(1);
}

// Maps `count` pages, with unmapped memory behind them.
static char* pages(size_t count) {
  char* at = mmap(NULL, (count + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || munmap(at + count * PAGE, PAGE) != 0) fail("mmap");
  return at;
}

static long add(long queue, const void* path, unsigned long mask) {
  return syscall(SYS_inotify_add_watch, queue, path, mask);
}
