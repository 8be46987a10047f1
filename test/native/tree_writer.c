// Usage: tree_writer TREE OUTSIDE ID
//
// One of several processes that change one tree at the same time, and move parts of it to OUTSIDE (on the
// same filesystem) and back. Reads operations, a line each, fields separated by tabs, paths relative to TREE;
// at the line "run" it does them all and says "done SUCCEEDED". Meanwhile it says "mark" at each operation of
// that name, "linked INODE" of each file that got a second name: a write by one name is not told of the
// other; "wrote INODE MS" of each write; and "renamed", the old name and the new one without their
// directories, separated by tabs, of each rename within TREE. It ends with its input.
//
// Targets of links that begin with @ lie in OUTSIDE.
//
// An operation may find that another writer was quicker; that is no failure. The contents of all files
// written are different.
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tree_walk.h"

enum { MAX_OPERATIONS = 200000 };

static int tree, outside;
static const char *id, *outside_path;
static unsigned long serial;  // of contents, and of names that no other writer takes

static char* unique(char* buffer) {
  sprintf(buffer, "w%s-%lu", id, ++serial);
  return buffer;
}

// All contents have one length, so that no size tells them apart.
static int put_content(int fd) {
  char line[64];
  int length = sprintf(line, "writer %s %08lu\n", id, ++serial);
  return write_and_say(fd, line, (size_t)length);
}

static int write_at(int directory, const char* path, int flags, long pause_us) {
  // NONBLOCK: the open of a FIFO without a reader fails.
  int fd = openat(directory, path, O_WRONLY | O_NONBLOCK | flags, 0600);
  if (fd < 0) return -1;
  if (pause_us > 0) usleep((useconds_t)pause_us);
  put_content(fd);
  return close(fd);
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static int rename_within(const char* from, const char* to, unsigned flags) {
  if (renameat2(tree, from, tree, to, flags) != 0) return -1;
  printf("renamed\t%s\t%s\n", base_name(from), base_name(to));
  if (flags & RENAME_EXCHANGE) printf("renamed\t%s\t%s\n", base_name(to), base_name(from));
  return 0;
}

static int save_atomically(const char* path) {
  char temporary[PATH_MAX];
  snprintf(temporary, sizeof temporary, "%s.%s", path, id);
  if (write_at(tree, temporary, O_CREAT | O_TRUNC, 0) != 0) return -1;
  if (rename_within(temporary, path, 0) == 0) return 0;
  int error = errno;
  unlinkat(tree, temporary, 0);
  errno = error;
  return -1;
}

static int link_unnamed(const char* path) {
  char self[64];
  int fd = openat(tree, ".", O_TMPFILE | O_WRONLY, 0600);
  if (fd < 0) return -1;
  put_content(fd);
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  int result = linkat(AT_FDCWD, self, tree, path, AT_SYMLINK_FOLLOW);
  int error = errno;
  close(fd);
  errno = error;
  return result;
}

static void say_linked(const struct stat* stats) {
  printf("linked %" PRIu64 "\n", (uint64_t)stats->st_ino);
}

// Links by a descriptor, so that the inode with two names is the one that is reported. On an overlay without
// an index, a file of the lower layer has another number by its new name.
static int link_file(const char* from, const char* to) {
  char self[64];
  struct stat before, after;
  int fd = openat(tree, from, O_PATH | O_NOFOLLOW);
  if (fd < 0) return -1;
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  int result = fstat(fd, &before) != 0 ? -1 : linkat(AT_FDCWD, self, tree, to, AT_SYMLINK_FOLLOW);
  int error = errno;
  close(fd);
  if (result == 0) {
    say_linked(&before);
    if (fstatat(tree, to, &after, AT_SYMLINK_NOFOLLOW) == 0) say_linked(&after);
  }
  errno = error;
  return result;
}

static int make_link(const char* target, int directory, const char* path) {
  char expanded[PATH_MAX];
  snprintf(expanded, sizeof expanded, "%s%s", *target == '@' ? outside_path : "", target + (*target == '@'));
  return symlinkat(expanded, directory, path);
}

// Puts a link in the place of another, as a deployment does.
static int point_link(const char* target, const char* path) {
  char temporary[PATH_MAX];
  snprintf(temporary, sizeof temporary, "%s.%s", path, id);
  if (make_link(target, tree, temporary) != 0) return -1;
  if (rename_within(temporary, path, 0) == 0) return 0;
  int error = errno;
  unlinkat(tree, temporary, 0);
  errno = error;
  return -1;
}

static int make_chain(const char* path) {
  static const char* const levels[] = {"", "/a", "/a/b", "/a/b/c"};
  char deep[PATH_MAX];
  int result = -1;
  for (int i = 0; i < 4; i++) {
    snprintf(deep, sizeof deep, "%s%s", path, levels[i]);
    result = mkdirat(tree, deep, 0700);
    if (result != 0 && errno != EEXIST) return -1;
  }
  strcat(deep, "/d");
  write_at(tree, deep, O_CREAT, 0);
  return result;
}

// Makes a subtree of three levels outside the tree, and moves it in.
static int move_in(const char* path) {
  char name[32];
  int top = -1, sub = -1;
  if (mkdirat(outside, unique(name), 0700) == 0) top = openat(outside, name, O_RDONLY | O_DIRECTORY);
  if (top >= 0 && mkdirat(top, "a", 0700) == 0) sub = openat(top, "a", O_RDONLY | O_DIRECTORY);
  if (sub < 0) return -1;
  write_at(top, "b", O_CREAT, 0);
  write_at(sub, "a", O_CREAT, 0);
  mkdirat(sub, "b", 0700);
  write_at(sub, "b/c", O_CREAT, 0);
  if (symlinkat("a/b", top, "c") != 0) perror("symlink");
  close(sub);
  close(top);
  return renameat(outside, name, tree, path);
}

static char last_out[32];  // what was moved out last, to be moved in again

static int move_out(const char* path) {
  char name[32];
  if (renameat(tree, path, outside, unique(name)) != 0) return -1;
  strcpy(last_out, name);
  return 0;
}

static int move_back(const char* path) {
  errno = ENOENT;
  if (last_out[0] == '\0' || renameat(outside, last_out, tree, path) != 0) return -1;
  last_out[0] = '\0';
  return 0;
}

// Makes one half of the exchange outside the tree.
static int trade(const char* target, const char* path) {
  char name[32];
  if (make_link(target, outside, unique(name)) != 0) return -1;
  if (renameat2(outside, name, tree, path, RENAME_EXCHANGE) != 0) return -1;
  strcpy(last_out, name);
  return 0;
}

static int swap_for_link(const char* target, const char* path) {
  return move_out(path) != 0 ? -1 : make_link(target, tree, path);
}

// Makes many empty files in one directory.
static int fill(const char* path, long count) {
  char name[PATH_MAX];
  if (mkdirat(tree, path, 0700) != 0 && errno != EEXIST) return -1;
  for (long i = 0; i < count; i++) {
    snprintf(name, sizeof name, "%s/f%05ld", path, i);
    int fd = openat(tree, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || close(fd) != 0) return -1;
  }
  return 0;
}

// Makes directories in each other, all named "d", in that directory.
static int dig(const char* path, long count) {
  int at = openat(tree, path, O_PATH | O_DIRECTORY);
  while (at >= 0 && count-- > 0) {
    int below = mkdirat(at, "d", 0700) == 0 ? openat(at, "d", O_PATH | O_DIRECTORY) : -1;
    close(at);
    at = below;
  }
  return at < 0 ? -1 : close(at);
}

static int operate(char** field) {
  const char *what = field[0], *a = field[1], *b = field[2];
  int budget = 40;
#define IS(name) (strcmp(what, name) == 0)
  if (IS("create")) return write_at(tree, a, O_CREAT | O_EXCL, 0);
  if (IS("append")) return write_at(tree, a, O_APPEND, 0);
  if (IS("rewrite")) return write_at(tree, a, O_CREAT | O_TRUNC, 0);
  if (IS("late")) return write_at(tree, b, 0, atol(a));
  if (IS("save")) return save_atomically(a);
  if (IS("unnamed")) return link_unnamed(a);
  if (IS("mkdir")) return mkdirat(tree, a, 0700);
  if (IS("chain")) return make_chain(a);
  if (IS("rmdir")) return unlinkat(tree, a, AT_REMOVEDIR);
  if (IS("unlink")) return unlinkat(tree, a, 0);
  if (IS("rename")) return rename_within(a, b, 0);
  if (IS("exchange")) return rename_within(a, b, RENAME_EXCHANGE);
  if (IS("link")) return link_file(a, b);
  if (IS("symlink")) return make_link(a, tree, b);
  if (IS("point")) return point_link(a, b);
  if (IS("mkfifo")) return mkfifoat(tree, a, 0600);
  if (IS("chmod")) return fchmodat(tree, b, (mode_t)strtol(a, NULL, 8), 0);
  if (IS("utimes")) return utimensat(tree, a, NULL, AT_SYMLINK_NOFOLLOW);
  if (IS("out")) return move_out(a);
  if (IS("in")) return move_in(a);
  if (IS("back")) return move_back(a);
  if (IS("trade")) return trade(a, b);
  if (IS("swap")) return swap_for_link(a, b);
  if (IS("remove")) return remove_tree(tree, a);
  if (IS("copy")) return copy_tree(tree, a, tree, b, 0, &budget);
  if (IS("fill")) return fill(b, atol(a));
  if (IS("dig")) return dig(b, atol(a));
  if (IS("pause")) return usleep((useconds_t)atol(a));
  if (IS("mark")) return printf("mark\n") < 0 || fflush(stdout) != 0;
#undef IS
  fprintf(stderr, "tree_writer: %s is no operation\n", what);
  exit(2);
}

// Returns if the error may come from another writer, or from paths that do not fit.
static int is_forbidden_by_state(int error) {
  static const int expected[] = {ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY,    ELOOP, EPERM,
                                 EXDEV,  EINVAL, EBUSY,   ENXIO,  ENAMETOOLONG, ESTALE};
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
    if (expected[i] == error) return 1;
  return 0;
}

// Makes missing parents, as tar and git do: new directories have an entry at once.
static int make_parents(char* path) {
  int made = 0;
  for (char* slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdirat(tree, path, 0700) == 0) made = 1;
    *slash = '/';
  }
  return made;
}

static int operate_anyway(char** field) {
  static const char destroying[] = " rmdir unlink remove chmod utimes append out ";
  char word[32];
  if (operate(field) == 0) return 0;
  snprintf(word, sizeof word, " %s ", field[0]);
  if (errno != ENOENT || strstr(destroying, word) != NULL) return -1;
  int made = make_parents(field[2][0] != '\0' ? field[2] : field[1]);
  if (made) return operate(field);
  errno = ENOENT;
  return -1;
}

static long run(char** lines, long count) {
  long succeeded = 0;
  for (long i = 0; i < count; i++) {
    char copy[3 * PATH_MAX];
    char *rest = strncpy(copy, lines[i], sizeof copy - 1), *field[3];
    for (int f = 0; f < 3; f++) {
      field[f] = strsep(&rest, "\t");
      if (field[f] == NULL) field[f] = "";
    }
    if (operate_anyway(field) == 0)
      succeeded++;
    else if (!is_forbidden_by_state(errno))
      fprintf(stderr, "tree_writer: %s: %s\n", lines[i], strerror(errno)), exit(1);
  }
  return succeeded;
}

int main(int argc, char** argv) {
  static char* lines[MAX_OPERATIONS];
  long count = 0;
  if (argc != 4) return 2;
  tree = open(argv[1], O_PATH | O_DIRECTORY);
  outside = open(argv[2], O_PATH | O_DIRECTORY);
  outside_path = argv[2];
  id = argv[3];
  // Removing a tree takes one descriptor for each level.
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (tree < 0 || outside < 0) {
    perror("tree_writer");
    return 1;
  }
  char* line = NULL;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, stdin)) > 0;) {
    line[length - 1] = '\0';
    if (strcmp(line, "run") != 0 && count < MAX_OPERATIONS) {
      lines[count++] = strdup(line);
      continue;
    }
    printf("done %ld\n", run(lines, count));
    fflush(stdout);
    while (count > 0) free(lines[--count]);
  }
  return 0;
}
