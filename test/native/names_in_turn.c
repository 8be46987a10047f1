// Makes and removes one file after another in a directory, each with a name of its own:
// names_in_turn DIR COUNT
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** arguments) {
  if (count != 3 || chdir(arguments[1]) != 0) return 2;
  for (long i = atol(arguments[2]); i > 0; i--) {
    char name[32];
    snprintf(name, sizeof name, "%ld", i);
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || close(fd) != 0 || unlink(name) != 0) return 1;
  }
  return 0;
}
