// Usage: rename_storm files TREE ID FILES | rename_storm noise TREE OUTSIDE ID
//
// files: gives FILES files new names, in turn, in the directories TREE/d0 to TREE/d3. The names say what is
// true: file 5 of writer 2 goes from 2-5-17 to 2-5-18, and the directory follows from the numbers
// (directory_of). noise: makes, writes, changes, replaces and removes other files there, and moves files to
// OUTSIDE and in from there.
//
// Both read a number from stdin and go on until that many renames, or rounds of noise, are done: the reader
// of the events decides how far ahead the writers may be. They end with their input.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char* what) {
  perror(what);
  exit(1);
}

static int directory_of(long file, long version) {
  return (int)((file + version * version + version / 3) % 4);
}

static void rename_files(const char* id, long files) {
  char from[64], to[64];
  long done = 0, allowed;
  for (long file = 0; file < files; file++) {
    snprintf(from, sizeof from, "d%d/%s-%ld-0", directory_of(file, 0), id, file);
    int fd = open(from, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || close(fd) != 0) die(from);
  }
  puts("ready");
  fflush(stdout);
  while (scanf("%ld", &allowed) == 1) {
    for (; done < allowed; done++) {
      long file = done % files, version = done / files;
      snprintf(from, sizeof from, "d%d/%s-%ld-%ld", directory_of(file, version), id, file, version);
      snprintf(to, sizeof to, "d%d/%s-%ld-%ld", directory_of(file, version + 1), id, file, version + 1);
      if (rename(from, to) != 0) die(from);
    }
  }
}

static void write_some(const char* path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0 || write(fd, path, strlen(path)) < 0 || close(fd) != 0) die(path);
}

static void make_noise(const char* outside, const char* id) {
  char inside[64], other[64], away[4096];
  long done = 0, allowed;
  puts("ready");
  fflush(stdout);
  while (scanf("%ld", &allowed) == 1) {
    for (; done < allowed; done++) {
      for (int directory = 0; directory < 4; directory++) {
        snprintf(inside, sizeof inside, "d%d/noise-%s-%ld", directory, id, done);
        snprintf(other, sizeof other, "d%d/noise-%s", 3 - directory, id);
        snprintf(away, sizeof away, "%s/noise-%s-%ld", outside, id, done % 2);
        write_some(inside);
        if (chmod(inside, 0640) != 0) die(inside);
        // A half without the other: out of the tree, in under another name.
        if (rename(inside, away) != 0) die("out");
        snprintf(inside, sizeof inside, "d%d/in-%s-%ld", directory, id, done);
        if (rename(away, inside) != 0) die("in");
        if (directory % 2 == 0 ? rename(inside, other) : unlink(inside)) die("over");
      }
      snprintf(inside, sizeof inside, "d0/mark-%s-%ld", id, done + 1);
      write_some(inside);
      if (unlink(inside) != 0) die(inside);
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 5 || chdir(argv[2]) != 0) return 2;
  if (strcmp(argv[1], "files") == 0) rename_files(argv[3], atol(argv[4]));
  if (strcmp(argv[1], "noise") == 0) make_noise(argv[3], argv[4]);
  return 0;
}
