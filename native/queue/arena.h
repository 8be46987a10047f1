#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "base/fifo.h"
#include "queue/packing.h"

// One span of kernel records, in memory of its own that goes back to the system as soon as it is delivered.
struct Chunk {
  Chunk* next;
  size_t used;

  static constexpr size_t kCapacity = kReadBytes - 2 * sizeof(void*);
  char* data() { return reinterpret_cast<char*>(this + 1); }
  static void Release(Chunk* chunk) {
    if (chunk != nullptr) munmap(chunk, kReadBytes);
  }
};
static_assert(sizeof(Chunk) + Chunk::kCapacity == kReadBytes);

// Holds the records that the guard thread has taken from the kernel, oldest first, up to a bound. Not locked:
// its owner is.
class Arena {
 public:
  Arena() = default;
  ~Arena() {
    while (Chunk* chunk = Take()) Chunk::Release(chunk);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void SetBound(size_t bytes) { bound_ = bytes / kReadBytes > 0 ? bytes / kReadBytes : 1; }
  bool empty() const { return chunks_.empty(); }

  // The chunk to read into, with room for at least one record of any length; null when the bound is reached
  // or no memory can be had, which is the same to the caller: the events stay with the kernel.
  Chunk* Writable() {
    if (last_ != nullptr && Chunk::kCapacity - last_->used >= kMaxRecordBytes) return last_;
    if (count_ == bound_) return nullptr;
    // mmap, not malloc: a burst of 64 MiB must not stay with the allocator afterwards.
    void* memory = mmap(nullptr, kReadBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    last_ = static_cast<Chunk*>(memory);
    last_->used = 0;
    chunks_.Push(last_);
    count_++;
    return last_;
  }

  // The oldest chunk, now the caller's to release; null when there is none.
  Chunk* Take() {
    Chunk* chunk = chunks_.Take();
    if (chunk == nullptr) return nullptr;
    if (chunk == last_) last_ = nullptr;
    count_--;
    return chunk;
  }

 private:
  size_t bound_ = 1;
  size_t count_ = 0;
  Fifo<Chunk> chunks_;
  // The last of them; null if there is none.
  Chunk* last_ = nullptr;
};
