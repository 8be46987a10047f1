// execvp(3): a command's name is looked for in PATH.

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/environment.h"

namespace {

// Only comes back if it fails. What the kernel knows no format for is a script of the shell's, as it is to
// execvp(3).
void Execute(const char* file, char* const* argv) {
  syscall(SYS_execve, file, argv, environment);
  if (errno != ENOEXEC) return;
  size_t count = 0;
  while (argv[count] != nullptr) count++;
  // On the stack, which has room for them: the kernel has put them there too. The last is the null.
  auto** words = static_cast<const char**>(__builtin_alloca((count + 2) * sizeof(char*)));
  words[0] = "/bin/sh";
  words[1] = file;
  for (size_t i = 1; i <= count; i++) words[i + 1] = argv[i];
  syscall(SYS_execve, words[0], words, environment);
}

}  // namespace

extern "C" int execvp(const char* name, char* const* argv) {
  if (*name == '\0') return errno = ENOENT, -1;
  if (name[strcspn(name, "/")] == '/') return Execute(name, argv), -1;
  int error = ENOENT;
  FindCommand(name, [&](const char* path) {
    Execute(path, argv);
    switch (errno) {
      case ENOENT:
      case ENOTDIR:
      case ESTALE:
      case ENODEV:
      case ETIMEDOUT:
        return false;
      default:
        // EACCES: it is there, for somebody else.
        error = errno;
        return error != EACCES;
    }
  });
  errno = error;
  return -1;
}
