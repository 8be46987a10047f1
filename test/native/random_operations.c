// Usage: random_operations SEED COUNT FIRST SECOND OUTSIDE
//
// Performs COUNT random file operations in three directories, the same ones in the same order for the same
// SEED, and then creates FIRST/sentinel. FIRST and SECOND are meant to be watched, OUTSIDE is not: what moves
// there vanishes. FIRST/watched-file and SECOND/watched-directory may be watched themselves: they take part
// under their names.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { DIRECTORIES = 3, NAMES = 32 };

// O_PATH descriptors: opening them makes no event, and names of 255 bytes need no path buffer.
static int directories[DIRECTORIES];
static char names[NAMES][NAME_MAX + 1];

// splitmix64: any seed is a good one, 0 included.
static uint64_t state;

static uint64_t draw(void) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static size_t below(size_t limit) {
  return (size_t)(draw() % limit);
}
static int any_directory(void) {
  return directories[below(DIRECTORIES)];
}
static const char* any_name(void) {
  return names[below(NAMES)];
}

// -- names

// Fills a name with `length` bytes by repeating the alphabet's pieces, cut where the length is reached. A
// piece of more than one byte may be cut in two: that is one more name that is not UTF-8.
static void repeat_pieces(char* name, size_t length, const char* const* alphabet, size_t pieces) {
  size_t used = 0;
  while (used < length) {
    const char* piece = alphabet[below(pieces)];
    size_t size = strlen(piece);
    if (size > length - used) size = length - used;
    memcpy(name + used, piece, size);
    used += size;
  }
  name[length] = '\0';
}

static void make_names(void) {
  static const char* const ascii[] = {"a", "b", "Z", "0", "9", "-", "_", " "};
  static const char* const control[] = {"x", "\n", "\t", "\x1b[31m", "\\", "\r", "\x7f"};
  static const char* const utf8[] = {"e", "\xc3\xa9", "\xe2\x82\xac", "\xe4\xba\x8b", "\xf0\x9f\x98\x80"};
  static const char* const not_utf8[] = {"n", "\xff", "\xc3", "\xe2\x82", "\x80", "\xed\xa0\x80", "\xc0\xaf"};
  static const struct {
    const char* const* pieces;
    size_t count;
  } alphabets[] = {
      {ascii, COUNT_OF(ascii)},
      {control, COUNT_OF(control)},
      {utf8, COUNT_OF(utf8)},
      {not_utf8, COUNT_OF(not_utf8)},
  };

  strcpy(names[0], "watched-file");
  strcpy(names[1], "watched-directory");
  for (size_t i = 2; i < NAMES; i++) {
    size_t kind = i % COUNT_OF(alphabets);
    // Every alphabet is tried short, at any length and at the longest there is. Short ones meet more often.
    size_t length = i < 18 ? 1 + below(20) : i < 28 ? 1 + below(NAME_MAX) : NAME_MAX;
    repeat_pieces(names[i], length, alphabets[kind].pieces, alphabets[kind].count);
  }
}

// -- operations: 0, or -1 and errno as the system call that failed has it

static int write_some(int descriptor) {
  static const char data[4096];
  return write(descriptor, data, 1 + below(sizeof data)) < 0 ? -1 : 0;
}

static int open_and_write(int flags) {
  int descriptor = openat(any_directory(), any_name(), O_WRONLY | flags, 0600);
  if (descriptor < 0) return -1;
  // Several writes in a row: the kernel merges events that the reader has not taken yet.
  for (size_t left = below(4); left > 0; left--) write_some(descriptor);
  return close(descriptor);
}

static int create_file(void) {
  return open_and_write(O_CREAT | O_EXCL);
}
static int write_file(void) {
  return open_and_write(0);
}
static int append_file(void) {
  return open_and_write(O_CREAT | O_APPEND);
}
static int truncate_on_open(void) {
  return open_and_write(O_TRUNC);
}

static int truncate_file(void) {
  int descriptor = openat(any_directory(), any_name(), O_WRONLY);
  if (descriptor < 0) return -1;
  int result = ftruncate(descriptor, (off_t)below(10000));
  close(descriptor);
  return result;
}

static int read_file(void) {
  char data[64];
  int descriptor = openat(any_directory(), any_name(), O_RDONLY);
  if (descriptor < 0) return -1;
  // A directory opens and cannot be read: that is an operation too.
  ssize_t got = read(descriptor, data, sizeof data);
  close(descriptor);
  return got < 0 && errno != EISDIR ? -1 : 0;
}

static int open_directory_itself(void) {
  int descriptor = openat(any_directory(), ".", O_RDONLY | O_DIRECTORY);
  return descriptor < 0 ? -1 : close(descriptor);
}

static int rename_within(void) {
  int directory = any_directory();
  return renameat2(directory, any_name(), directory, any_name(), 0);
}

static int rename_anywhere(void) {
  int from = any_directory();
  return renameat2(from, any_name(), any_directory(), any_name(), 0);
}

static int exchange(void) {
  int from = any_directory();
  return renameat2(from, any_name(), any_directory(), any_name(), RENAME_EXCHANGE);
}

static int link_file(void) {
  int from = any_directory();
  return linkat(from, any_name(), any_directory(), any_name(), 0);
}

static int link_unnamed_file(void) {
  char self[64];
  int directory = any_directory();
  int descriptor = openat(directory, ".", O_TMPFILE | O_WRONLY, 0600);
  if (descriptor < 0) return -1;
  write_some(descriptor);
  snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
  int result = linkat(AT_FDCWD, self, directory, any_name(), AT_SYMLINK_FOLLOW);
  int error = errno;
  close(descriptor);
  errno = error;
  return result;
}

static int unlink_file(void) {
  return unlinkat(any_directory(), any_name(), 0);
}
static int make_directory(void) {
  return mkdirat(any_directory(), any_name(), 0700);
}
static int remove_directory(void) {
  return unlinkat(any_directory(), any_name(), AT_REMOVEDIR);
}
static int make_symlink(void) {
  return symlinkat(any_name(), any_directory(), any_name());
}

static mode_t any_mode(void) {
  // The owner keeps all rights, so that an ordinary user's run can do what root's can.
  return 0700 | (mode_t)below(0100);
}

static int change_mode(void) {
  return fchmodat(any_directory(), any_name(), any_mode(), 0);
}
static int change_mode_of_directory(void) {
  return fchmodat(any_directory(), ".", any_mode(), 0);
}

static int (*const operations[])(void) = {
    create_file,       write_file,  append_file,      truncate_on_open, truncate_file,
    read_file,         read_file,   rename_within,    rename_anywhere,  rename_anywhere,
    exchange,          link_file,   unlink_file,      make_directory,   open_directory_itself,
    link_unnamed_file, change_mode, remove_directory, make_symlink,     change_mode_of_directory,
};

// The operation was drawn for names that are not there, are there already, or are of another kind.
static int is_forbidden_by_state(int error) {
  switch (error) {
    case ENOENT:
    case EEXIST:
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
    case ELOOP:
    case EPERM:  // link() of a directory
    case ENAMETOOLONG:
      return 1;
    default:
      return 0;
  }
}

static void die(const char* what) {
  perror(what);
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 3 + DIRECTORIES) {
    fprintf(stderr, "usage: random_operations SEED COUNT FIRST SECOND OUTSIDE\n");
    return 2;
  }
  state = strtoull(argv[1], NULL, 10);
  long count = strtol(argv[2], NULL, 10);
  for (int i = 0; i < DIRECTORIES; i++) {
    directories[i] = open(argv[3 + i], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directories[i] < 0) die(argv[3 + i]);
  }
  make_names();

  for (long done = 0; done < count;) {
    if (operations[below(COUNT_OF(operations))]() == 0) {
      done++;
    } else if (!is_forbidden_by_state(errno)) {
      die("random_operations");
    }
  }

  int sentinel = openat(directories[0], "sentinel", O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (sentinel < 0) die("sentinel");
  return close(sentinel) == 0 ? 0 : 1;
}
