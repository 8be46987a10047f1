// Usage: target_reader
//
// Reads the files of a mirror's target as fast as it can, and reports states that no reader may meet. Answers
// lines on stdin with lines on stdout:
//
//   watch TARGET COUNT
//     COUNT lines follow: a path in TARGET each, its bytes in hexadecimal, then "key" or "file". The answer
//     is "ready"
//   stop
//     the answer is a line for each path, in their order: "READS MISSING ERRNO TORN HEADERS", the headers in
//     hexadecimal, separated by commas, '-' if there is none; then "mixed COUNT EXAMPLE"
//
// Contents are those of ../mirror/model/content.mjs: a header, and then one character up to the size in the
// header. Keys are also read together through one descriptor of the directory that ..data names: those of one
// source must have one version. Ends with its input.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NAMES = 512, MOST_HEADERS = 64, LONGEST = 4096, LARGEST = 512 * 1024, KEYS_AT_ONCE = 12 };

struct name {
  char path[LONGEST];  // TARGET/NAME
  const char* name;    // in it
  bool is_key;
  unsigned long reads, missing, torn;
  int error;
  int headers_seen;
  char* headers[MOST_HEADERS];
};

static struct name* names;
static int count;
static char target[LONGEST];
static unsigned long mixed;
static char example[2 * LONGEST];

// Returns the length of the header of a whole content, 0 for an empty one, -1 for a torn one.
static int header_length(const char* content, ssize_t size, int* source, int* version) {
  if (size == 0) return 0;
  const char* bar = memchr(content, '|', (size_t)size);
  long whole = 0;
  int length = 0;
  if (content[0] != '@' || bar == NULL) return -1;
  if (sscanf(bar, "|%d|%d|%ld|%n", source, version, &whole, &length) != 3 || length == 0) return -1;
  length += (int)(bar - content);
  if (whole != size) return -1;
  char filling = (char)('a' + *version % 26);
  for (ssize_t i = length; i < size; i++)
    if (content[i] != filling) return -1;
  return length;
}

static char buffer[LARGEST + 1];

// Reads a descriptor to its end, and closes it.
static ssize_t read_all(int fd) {
  ssize_t size = 0, got;
  while ((got = read(fd, buffer + size, LARGEST - (size_t)size)) > 0) size += got;
  close(fd);
  buffer[size] = '\0';
  return got < 0 ? -1 : size;
}

static void remember(struct name* name, const char* header, int length) {
  for (int i = 0; i < name->headers_seen; i++)
    if (strncmp(name->headers[i], header, (size_t)length) == 0 && name->headers[i][length] == '\0') return;
  if (name->headers_seen < MOST_HEADERS)
    name->headers[name->headers_seen++] = strndup(header, (size_t)length);
}

static void read_name(struct name* name) {
  int source, version;
  name->reads++;
  int fd = open(name->path, O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? -1 : read_all(fd);
  if (size < 0) {
    name->missing++;
    name->error = errno;
    return;
  }
  int length = header_length(buffer, size, &source, &version);
  if (length < 0)
    name->torn++;
  else
    remember(name, buffer, length);
}

// Reads some keys of one directory. A key that goes meanwhile goes with its directory, which ends the look.
static void read_keys(int first) {
  char path[LONGEST + 8];
  snprintf(path, sizeof path, "%s/..data", target);
  int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  int version_of[16];
  memset(version_of, -1, sizeof version_of);
  for (int i = 0, read = 0; i < count && read < KEYS_AT_ONCE; i++) {
    const struct name* name = &names[(first + i) % count];
    int source, version;
    if (!name->is_key) continue;
    read++;
    int fd = openat(directory, name->name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) break;
    ssize_t size = read_all(fd);
    if (size < 0 || header_length(buffer, size, &source, &version) <= 0) continue;
    if (source < 0 || source >= 16) continue;
    if (version_of[source] >= 0 && version_of[source] != version) {
      if (mixed++ == 0)
        snprintf(example, sizeof example, "source %d: versions %d and %d", source, version_of[source],
                 version);
    }
    version_of[source] = version;
  }
  close(directory);
}

static void forget(void) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < names[i].headers_seen; k++) free(names[i].headers[k]);
  count = 0;
  mixed = 0;
  example[0] = '\0';
}

static bool watch(void) {
  char hex[2 * LONGEST], kind[8];
  int wanted;
  forget();
  if (scanf(" %8191s %d", hex, &wanted) != 2 || wanted > MOST_NAMES) return false;
  size_t length = strlen(hex) / 2;
  for (size_t i = 0; i < length; i++) sscanf(hex + 2 * i, "%2hhx", (unsigned char*)&target[i]);
  target[length] = '\0';
  for (int n = 0; n < wanted; n++) {
    struct name* name = &names[n];
    memset(name, 0, sizeof *name);
    if (scanf(" %8191s %7s", hex, kind) != 2) return false;
    int at = snprintf(name->path, LONGEST / 2, "%s/", target);
    length = strlen(hex) / 2;
    if ((size_t)at + length >= LONGEST) return false;
    for (size_t i = 0; i < length; i++)
      sscanf(hex + 2 * i, "%2hhx", (unsigned char*)&name->path[(size_t)at + i]);
    name->name = name->path + at;
    name->is_key = strcmp(kind, "key") == 0;
  }
  count = wanted;
  puts("ready");
  fflush(stdout);
  return true;
}

static void stop(void) {
  for (int i = 0; i < count; i++) {
    const struct name* name = &names[i];
    printf("%lu %lu %d %lu ", name->reads, name->missing, name->error, name->torn);
    if (name->headers_seen == 0) putchar('-');
    for (int k = 0; k < name->headers_seen; k++) {
      if (k > 0) putchar(',');
      // An empty content has an empty header.
      if (name->headers[k][0] == '\0') putchar('=');
      for (const char* c = name->headers[k]; *c != '\0'; c++) printf("%02x", (unsigned char)*c);
    }
    putchar('\n');
  }
  printf("mixed %lu %s\n", mixed, example);
  fflush(stdout);
  forget();
}

int main(void) {
  char command[16];
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  names = calloc(MOST_NAMES, sizeof *names);
  if (names == NULL) return 1;
  // Without a buffer, poll(2) sees all input: a buffer would take lines that come in one write.
  setvbuf(stdin, NULL, _IONBF, 0);
  for (unsigned long turn = 0;; turn++) {
    if (count == 0 || turn % 32 == 0) {
      if (poll(&input, 1, count == 0 ? -1 : 0) < 0 && errno != EINTR) return 1;
      if (input.revents != 0) {
        if (scanf(" %15s", command) != 1) return 0;
        if (strcmp(command, "stop") == 0)
          stop();
        else if (strcmp(command, "watch") != 0 || !watch())
          return 1;
        continue;
      }
    }
    if (count == 0) continue;
    read_name(&names[turn % (unsigned long)count]);
    if (turn % 8 == 0) read_keys((int)(turn % (unsigned long)count));
  }
}
