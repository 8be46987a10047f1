#pragma once

#include <cstddef>
#include <cstdint>

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
  ~RecordQueue();
  RecordQueue(const RecordQueue&) = delete;
  RecordQueue& operator=(const RecordQueue&) = delete;

  // Returns the place for the next record of so many bytes; null when there is no memory.
  uint8_t* Append(size_t bytes);

  // Lets the records so far be taken, though they fill no block.
  void Flush();

  // Nothing to be taken.
  bool empty() const { return first_ == nullptr; }
  // So much waits to be taken that those who make more should wait.
  bool full() const { return bytes_ >= kFull; }

  // The oldest block that is ready, null when there is none; to be given back.
  Block* Take();
  void GiveBack(Block* block);

 private:
  // Large enough that a call into JavaScript for each costs nothing, small enough that the first comes early.
  static constexpr size_t kBlockBytes = 128 * 1024 - sizeof(Block);
  static constexpr size_t kFull = 16 * 1024 * 1024;

  Block* filling_ = nullptr;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
  // One for the next use.
  Block* spare_ = nullptr;
  size_t bytes_ = 0;
};
