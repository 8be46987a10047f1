// Memory of a program without libc, and the little that <vector> calls of libstdc++. There is always some: a
// supervisor that cannot go on ends.

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "run/base/report.h"

#if !defined(__clang__)
// Each delete tells the size (binding.gyp): a block has no room for it.
#pragma GCC diagnostic ignored "-Wsized-deallocation"
#endif

namespace {

constexpr size_t kSmallest = 32, kLargest = 65536, kChunk = 262144;
constexpr int kClasses = 12;
constexpr char kNone[] = "there is no memory left";

struct Unused {
  Unused* next;
};
Unused* unused[kClasses];
char* chunk;
size_t chunk_left;

// Classes are of sizes by powers of two.
int ClassOf(size_t bytes) {
  int of = 0;
  for (size_t room = kSmallest; room < bytes; room *= 2) of++;
  return of;
}

void* Map(size_t bytes) {
  const long at =
      syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == -1) Die(kNone);
  return reinterpret_cast<void*>(at);
}

}  // namespace

void* operator new(size_t bytes) {
  if (bytes > kLargest) return Map(bytes);
  const int of = ClassOf(bytes);
  if (unused[of] != nullptr) {
    Unused* taken = unused[of];
    unused[of] = taken->next;
    return taken;
  }
  const size_t room = kSmallest << of;
  // The rest of the chunk before is less than was asked for, and is lost.
  if (chunk_left < room) {
    chunk = static_cast<char*>(Map(kChunk));
    chunk_left = kChunk;
  }
  char* taken = chunk;
  chunk += room;
  chunk_left -= room;
  return taken;
}

void operator delete(void* memory, size_t bytes) noexcept {
  if (memory == nullptr) return;
  if (bytes > kLargest) {
    syscall(SYS_munmap, memory, bytes);
    return;
  }
  auto* freed = static_cast<Unused*>(memory);
  const int of = ClassOf(bytes);
  freed->next = unused[of];
  unused[of] = freed;
}

namespace std {
void __throw_length_error(const char*) {
  Die(kNone);
}
void __throw_bad_alloc() {
  Die(kNone);
}
void __throw_bad_array_new_length() {
  Die(kNone);
}
}  // namespace std
