#pragma once

#include <limits.h>

#include "base/text.h"

// Hidden: what may be another file's has its address in a table, which a dynamic linker fills in, and here is
// none.
extern __attribute__((visibility("hidden"))) char** environment;

// As getenv(3), but `unset` where there is none.
inline const char* Variable(const char* name, const char* unset = "") {
  const size_t length = strlen(name);
  for (char** each = environment; *each != nullptr; each++)
    if (BeginsWith(*each, name) && (*each)[length] == '=') return *each + length + 1;
  return unset;
}

// Tries each path at which execvp(3) looks for a command, until `is_it` returns true.
template <typename Test>
void FindCommand(const char* name, Test is_it) {
  if (name[strcspn(name, "/")] == '/') return static_cast<void>(is_it(name));
  // Without PATH: what POSIX's confstr(_CS_PATH) says.
  for (const char* directory = Variable("PATH", "/bin:/usr/bin");; directory++) {
    const size_t length = strcspn(directory, ":");
    Text path;
    // An empty one is the working directory.
    path.Add(directory, length).Add(length > 0 ? "/" : "").Add(name);
    if (path.length() < PATH_MAX && is_it(path.text())) return;
    directory += length;
    if (*directory == '\0') return;
  }
}
