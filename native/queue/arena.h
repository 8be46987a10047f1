#pragma once

#include <cstddef>

#include "queue/packing.h"

// One span of kernel records, in memory of its own that goes back to the system as soon as it is delivered.
struct Chunk {
  Chunk* next;
  size_t used;

  static constexpr size_t kCapacity = kReadBytes - 2 * sizeof(void*);
  char* data() { return reinterpret_cast<char*>(this + 1); }
  static void Release(Chunk* chunk);
};
static_assert(sizeof(Chunk) + Chunk::kCapacity == kReadBytes);

// Holds the records that the guard thread has taken from the kernel, oldest first, up to a bound. Not locked:
// its owner is.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void SetBound(size_t bytes) { bound_ = bytes / kReadBytes > 0 ? bytes / kReadBytes : 1; }
  bool empty() const { return first_ == nullptr; }

  // The chunk to read into, with room for at least one record of any length; null when the bound is reached
  // or no memory can be had, which is the same to the caller: the events stay with the kernel.
  Chunk* Writable();

  // The oldest chunk, now the caller's to release; null when there is none.
  Chunk* Take();

 private:
  size_t bound_ = 1;
  size_t chunks_ = 0;
  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
};
