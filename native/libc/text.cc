// Bytes and strings: what ns_enter.cc calls, and what a compiler may call of its own accord.

#include <string.h>

#if !defined(__clang__)
// A loop that copies bytes is not to become a call of memcpy() in memcpy() itself.
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

extern "C" {

void* memcpy(void* to, const void* from, size_t length) {
  for (size_t i = 0; i < length; i++) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}

void* memset(void* at, int byte, size_t length) {
  for (size_t i = 0; i < length; i++) static_cast<char*>(at)[i] = static_cast<char>(byte);
  return at;
}

size_t strlen(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') length++;
  return length;
}

// With the null at its end, as strchr(3) has it.
static bool Has(const char* set, char byte) {
  while (*set != byte && *set != '\0') set++;
  return *set == byte;
}

size_t strspn(const char* text, const char* accepted) {
  size_t length = 0;
  while (text[length] != '\0' && Has(accepted, text[length])) length++;
  return length;
}

size_t strcspn(const char* text, const char* rejected) {
  size_t length = 0;
  while (!Has(rejected, text[length])) length++;
  return length;
}

}  // extern "C"
