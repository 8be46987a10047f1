// Bytes and strings: what ns_enter.cc and run/ call, and what a compiler may call of its own accord.

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

void* memmove(void* to, const void* from, size_t length) {
  if (to < from) return memcpy(to, from, length);
  while (length-- > 0) static_cast<char*>(to)[length] = static_cast<const char*>(from)[length];
  return to;
}

int memcmp(const void* one, const void* other, size_t length) {
  const auto* a = static_cast<const unsigned char*>(one);
  const auto* b = static_cast<const unsigned char*>(other);
  for (size_t i = 0; i < length; i++)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

int strcmp(const char* one, const char* other) {
  while (*one == *other && *one != '\0') one++, other++;
  return static_cast<unsigned char>(*one) - static_cast<unsigned char>(*other);
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
