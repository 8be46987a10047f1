#include "record/record_queue.h"

#include <cstdlib>

RecordQueue::~RecordQueue() {
  Flush();
  while (Block* block = Take()) free(block);
  free(spare_);
}

uint8_t* RecordQueue::Append(size_t bytes) {
  if (filling_ != nullptr && filling_->capacity - filling_->used < bytes) Flush();
  if (filling_ == nullptr && spare_ != nullptr && spare_->capacity >= bytes) {
    filling_ = spare_;
    spare_ = nullptr;
  }
  if (filling_ == nullptr) {
    size_t capacity = bytes > kBlockBytes ? bytes : kBlockBytes;
    filling_ = static_cast<Block*>(malloc(sizeof(Block) + capacity));
    if (filling_ == nullptr) return nullptr;
    filling_->next = nullptr;
    filling_->used = 0;
    filling_->capacity = capacity;
  }
  uint8_t* record = filling_->data() + filling_->used;
  filling_->used += bytes;
  return record;
}

void RecordQueue::Flush() {
  if (filling_ == nullptr) return;
  (last_ == nullptr ? first_ : last_->next) = filling_;
  last_ = filling_;
  bytes_ += filling_->used;
  filling_ = nullptr;
}

Block* RecordQueue::Take() {
  Block* block = first_;
  if (block == nullptr) return nullptr;
  first_ = block->next;
  if (first_ == nullptr) last_ = nullptr;
  bytes_ -= block->used;
  return block;
}

void RecordQueue::GiveBack(Block* block) {
  if (spare_ == nullptr && block->capacity == kBlockBytes) {
    block->next = nullptr;
    block->used = 0;
    spare_ = block;
  } else {
    free(block);
  }
}
