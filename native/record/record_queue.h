#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/fifo.h"

// Whole records, in the order in which they are to be read.
struct Block {
  Block* next;
  size_t used;
  size_t capacity;

  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
};

// The records that wait for JavaScript. Not locked: its owner is.
class RecordQueue {
 public:
  RecordQueue() = default;
  ~RecordQueue() {
    Flush();
    while (Block* block = Take()) free(block);
    free(spare_);
  }
  RecordQueue(const RecordQueue&) = delete;
  RecordQueue& operator=(const RecordQueue&) = delete;

  // Returns the place for the next record of so many bytes; null when there is no memory.
  uint8_t* Append(size_t bytes) {
    if (filling_ != nullptr && filling_->capacity - filling_->used < bytes) Flush();
    if (filling_ == nullptr && spare_ != nullptr && spare_->capacity >= bytes) {
      filling_ = spare_;
      spare_ = nullptr;
    }
    if (filling_ == nullptr) {
      size_t capacity = bytes > kBlockBytes ? bytes : kBlockBytes;
      filling_ = static_cast<Block*>(malloc(sizeof(Block) + capacity));
      if (filling_ == nullptr) return nullptr;
      filling_->used = 0;
      filling_->capacity = capacity;
    }
    uint8_t* record = filling_->data() + filling_->used;
    filling_->used += bytes;
    return record;
  }

  // Lets the records so far be taken, though they fill no block.
  void Flush() {
    if (filling_ == nullptr) return;
    filled_.Push(filling_);
    bytes_ += filling_->used;
    filling_ = nullptr;
  }

  // Nothing to be taken.
  bool empty() const { return filled_.empty(); }
  // So much waits to be taken that those who make more should wait.
  bool full() const { return bytes_ >= kFull; }

  // The oldest block that is ready, null when there is none; to be given back.
  Block* Take() {
    Block* block = filled_.Take();
    if (block != nullptr) bytes_ -= block->used;
    return block;
  }

  void GiveBack(Block* block) {
    if (spare_ == nullptr && block->capacity == kBlockBytes) {
      block->used = 0;
      spare_ = block;
    } else {
      free(block);
    }
  }

 private:
  // Large enough that a call into JavaScript for each costs nothing, small enough that the first comes early.
  static constexpr size_t kBlockBytes = 128 * 1024 - sizeof(Block);
  static constexpr size_t kFull = 16 * 1024 * 1024;

  Block* filling_ = nullptr;
  Fifo<Block> filled_;
  // One for the next use.
  Block* spare_ = nullptr;
  size_t bytes_ = 0;
};
