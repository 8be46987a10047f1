// The parts of the C++ runtime that the standard headers refer to, so that the addon links libc and nothing
// else and one file serves glibc and musl. Memory that cannot be had, or an impossible length, ends the
// process: as with exceptions switched off it would anyway.

#include <cstdlib>
#include <new>

void* operator new(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) abort();
  return memory;
}
void* operator new[](size_t bytes) {
  return operator new(bytes);
}
void operator delete(void* memory) noexcept {
  free(memory);
}
void operator delete[](void* memory) noexcept {
  free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  free(memory);
}

namespace std {
void __throw_length_error(const char*) {
  abort();
}
void __throw_logic_error(const char*) {
  abort();
}
void __throw_bad_alloc() {
  abort();
}
void __throw_bad_array_new_length() {
  abort();
}
void __throw_bad_function_call() {
  abort();
}
void __throw_out_of_range_fmt(const char*, ...) {
  abort();
}
}  // namespace std

extern "C" void __cxa_pure_virtual() {
  abort();
}
