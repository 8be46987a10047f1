#include "queue/arena.h"

#include <sys/mman.h>

void Chunk::Release(Chunk* chunk) {
  if (chunk != nullptr) munmap(chunk, kReadBytes);
}

Arena::~Arena() {
  while (Chunk* chunk = Take()) Chunk::Release(chunk);
}

Chunk* Arena::Writable() {
  if (last_ != nullptr && Chunk::kCapacity - last_->used >= kMaxRecordBytes) return last_;
  if (chunks_ == bound_) return nullptr;
  // mmap, not malloc: a burst of 64 MiB must not stay with the allocator afterwards.
  void* memory = mmap(nullptr, kReadBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* chunk = static_cast<Chunk*>(memory);
  chunk->next = nullptr;
  chunk->used = 0;
  (last_ == nullptr ? first_ : last_->next) = chunk;
  last_ = chunk;
  chunks_++;
  return chunk;
}

Chunk* Arena::Take() {
  Chunk* chunk = first_;
  if (chunk == nullptr) return nullptr;
  first_ = chunk->next;
  if (first_ == nullptr) last_ = nullptr;
  chunks_--;
  return chunk;
}
