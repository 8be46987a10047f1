// A FUSE server of a tree that is nowhere: DIRECTORIES d0, d1, ... with FILES f0, f1, ... each. A request
// takes a millisecond. Mounts, prints 'ready', and obeys lines on standard input until that ends:
//
//   touch D F    the file has another size from now on
//   count        prints the number of requests so far
//
//   large_fuse FRONT DIRECTORIES FILES
//
// fuse(4) and <linux/fuse.h>.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 16, kRequestBytes = 128 * 1024, kFirstFile = 1 << 20 };

static int device;
static unsigned directories, files;
static _Atomic unsigned* sizes;
static atomic_ulong requests;
static time_t began;

static struct fuse_attr attributes(uint64_t node) {
  struct fuse_attr attr = {.ino = node, .nlink = 1, .blksize = 4096};
  attr.mode = node < kFirstFile ? S_IFDIR | 0755 : S_IFREG | 0644;
  if (node >= kFirstFile) attr.size = sizes[node - kFirstFile];
  attr.mtime = attr.ctime = attr.atime = (uint64_t)(began + (long)attr.size);
  return attr;
}

// The node of a name, or 0.
static uint64_t find(uint64_t parent, const char* name) {
  char* end;
  unsigned long n = strtoul(name + 1, &end, 10);
  if (*end != '\0' || end == name + 1) return 0;
  if (parent == FUSE_ROOT_ID) return *name == 'd' && n < directories ? 2 + n : 0;
  return *name == 'f' && n < files ? kFirstFile + (parent - 2) * files + n : 0;
}

// What READDIR gives of a directory from an offset on: bytes.
static size_t list(uint64_t node, uint64_t from, size_t most, char* out) {
  unsigned count = node == FUSE_ROOT_ID ? directories : files;
  size_t used = 0;
  for (uint64_t i = from; i < count; i++) {
    struct fuse_dirent* entry = (struct fuse_dirent*)(out + used);
    char name[16];
    int length = snprintf(name, sizeof name, "%c%u", node == FUSE_ROOT_ID ? 'd' : 'f', (unsigned)i);
    size_t bytes = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + (size_t)length);
    if (used + bytes > most) break;
    memset(entry, 0, bytes);
    entry->ino = find(node, name);
    entry->off = i + 1;
    entry->namelen = (uint32_t)length;
    entry->type = node == FUSE_ROOT_ID ? S_IFDIR >> 12 : S_IFREG >> 12;
    memcpy(entry->name, name, (size_t)length);
    used += bytes;
  }
  return used;
}

// Fills `out`; returns its bytes, or -errno.
static long answer(const struct fuse_in_header* in, const void* body, char* out) {
  memset(out, 0, 256);
  switch (in->opcode) {
    case FUSE_INIT: {
      struct fuse_init_out init = {.major = 7, .minor = 31, .max_readahead = 65536, .max_write = 65536};
      init.max_background = 64;
      memcpy(out, &init, sizeof init);
      return sizeof init;
    }
    case FUSE_LOOKUP: {
      uint64_t node = find(in->nodeid, body);
      if (node == 0) return -ENOENT;
      struct fuse_entry_out entry = {
          .nodeid = node, .entry_valid = 1, .attr_valid = 1, .attr = attributes(node)};
      memcpy(out, &entry, sizeof entry);
      return sizeof entry;
    }
    case FUSE_GETATTR: {
      struct fuse_attr_out attr = {.attr_valid = 1, .attr = attributes(in->nodeid)};
      memcpy(out, &attr, sizeof attr);
      return sizeof attr;
    }
    case FUSE_OPENDIR:
      return sizeof(struct fuse_open_out);
    case FUSE_READDIR: {
      const struct fuse_read_in* read_in = body;
      return (long)list(in->nodeid, read_in->offset, read_in->size, out);
    }
    case FUSE_RELEASEDIR:
      return 0;
    case FUSE_STATFS:
      return sizeof(struct fuse_statfs_out);
    default:
      return -ENOSYS;
  }
}

static void* serve(void* unused) {
  (void)unused;
  char* request = malloc(kRequestBytes);
  char* reply = malloc(kRequestBytes);
  for (;;) {
    ssize_t length = read(device, request, kRequestBytes);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) exit(errno == ENODEV ? 0 : 1);
    const struct fuse_in_header* in = (const struct fuse_in_header*)request;
    if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET || in->opcode == FUSE_INTERRUPT)
      continue;
    requests++;
    struct timespec millisecond = {.tv_nsec = 1000000};
    nanosleep(&millisecond, NULL);
    struct fuse_out_header* out = (struct fuse_out_header*)reply;
    long bytes = answer(in, in + 1, reply + sizeof *out);
    *out = (struct fuse_out_header){.unique = in->unique, .error = bytes < 0 ? (int)bytes : 0};
    out->len = (uint32_t)(sizeof *out + (bytes < 0 ? 0 : (size_t)bytes));
    // ENOENT: whoever asked was interrupted.
    if (write(device, reply, out->len) < 0 && errno != ENOENT) exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  directories = (unsigned)atoi(argv[2]);
  files = (unsigned)atoi(argv[3]);
  sizes = calloc((size_t)directories * files, sizeof *sizes);
  began = time(NULL) - 86400;
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return perror("/dev/fuse"), 1;
  char options[64];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
  if (mount("large", argv[1], "fuse.large", 0, options) < 0) return perror("mount"), 1;
  for (int i = 0; i < kThreads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) != 0) return perror("pthread_create"), 1;
  }
  printf("ready\n");
  fflush(stdout);
  char line[64];
  unsigned d, f;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "touch %u %u", &d, &f) == 2) sizes[d * files + f]++;
    if (strncmp(line, "count", 5) == 0) printf("%lu\n", (unsigned long)requests);
    fflush(stdout);
  }
  return 0;
}
