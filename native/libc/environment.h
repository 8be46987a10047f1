#pragma once

#include <string.h>

// Hidden: what may be another file's has its address in a table, which a dynamic linker fills in, and here is
// none.
extern __attribute__((visibility("hidden"))) char** environment;

// As getenv(3), but "" where there is none.
inline const char* Variable(const char* name) {
  const size_t length = strlen(name);
  for (char** each = environment; *each != nullptr; each++)
    if (memcmp(*each, name, length) == 0 && (*each)[length] == '=') return *each + length + 1;
  return "";
}
