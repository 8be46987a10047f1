#pragma once

// Items that are linked by their `next`, the oldest first. Not locked, and not their owner.
template <typename Item>
class Fifo {
 public:
  Fifo() = default;
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  bool empty() const { return first_ == nullptr; }

  void Push(Item* item) {
    item->next = nullptr;
    *end_ = item;
    end_ = &item->next;
  }

  // Null: there is none.
  Item* Take() {
    Item* item = first_;
    if (item == nullptr) return nullptr;
    first_ = item->next;
    if (first_ == nullptr) end_ = &first_;
    return item;
  }

  // All of them, linked as they were.
  Item* TakeAll() {
    Item* items = first_;
    first_ = nullptr;
    end_ = &first_;
    return items;
  }

 private:
  Item* first_ = nullptr;
  Item** end_ = &first_;
};
