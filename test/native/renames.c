// renames DIR COUNT: gives one file COUNT new names in turn, "0000001" and so on: an IN_MOVED_FROM and an IN_MOVED_TO each,
// whose order shows in the names.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) return 2;
  long count = atol(argv[2]);
  char from[32], to[32];
  for (long i = 0; i < count; i++) {
    snprintf(from, sizeof from, "%07ld", i);
    snprintf(to, sizeof to, "%07ld", i + 1);
    if (rename(from, to) != 0) {
      perror("rename");
      return 1;
    }
  }
  return 0;
}
