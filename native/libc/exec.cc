// execvp(3): a command's name is looked for in PATH.

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "libc/environment.h"

namespace {

constexpr char kPath[] = "PATH=";
// Where there is no PATH: what POSIX's confstr(_CS_PATH) says.
constexpr char kUsualPath[] = "/bin:/usr/bin";

const char* Path() {
  for (char** variable = environment; *variable != nullptr; variable++) {
    size_t same = 0;
    while (kPath[same] != '\0' && (*variable)[same] == kPath[same]) same++;
    if (kPath[same] == '\0') return *variable + same;
  }
  return kUsualPath;
}

// Only comes back if it fails. What the kernel knows no format for is a script of the shell's, as it is to
// execvp(3).
void Execute(const char* file, char* const* argv) {
  execve(file, argv, environment);
  if (errno != ENOEXEC) return;
  size_t count = 0;
  while (argv[count] != nullptr) count++;
  // On the stack, which has room for them: the kernel has put them there too. The last is the null.
  auto** words = static_cast<const char**>(__builtin_alloca((count + 2) * sizeof(char*)));
  words[0] = "/bin/sh";
  words[1] = file;
  for (size_t i = 1; i <= count; i++) words[i + 1] = argv[i];
  execve(words[0], const_cast<char* const*>(words), environment);
}

}  // namespace

extern "C" int execvp(const char* name, char* const* argv) {
  const size_t name_length = strlen(name);
  if (name_length == 0) return errno = ENOENT, -1;
  if (name[strcspn(name, "/")] == '/') return Execute(name, argv), -1;

  bool is_refused = false;
  for (const char* directory = Path();; directory++) {
    const size_t length = strcspn(directory, ":");
    char file[PATH_MAX];
    if (length + 1 + name_length < sizeof file) {
      memcpy(file, directory, length);
      // An empty one is the working directory.
      size_t at = length;
      if (length > 0) file[at++] = '/';
      memcpy(file + at, name, name_length + 1);
      Execute(file, argv);
      if (errno == EACCES)
        is_refused = true;
      else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV &&
               errno != ETIMEDOUT)
        return -1;
    }
    directory += length;
    if (*directory == '\0') break;
  }
  // It was there, for somebody else.
  errno = is_refused ? EACCES : ENOENT;
  return -1;
}
