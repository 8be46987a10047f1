#pragma once

#include <string.h>

#include "run/base/memory.h"

// A growing array of what may be moved byte by byte.
template <typename T>
class Vector {
 public:
  Vector() = default;
  ~Vector() { Free(items_, capacity_ * sizeof(T)); }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  size_t size() const { return size_; }
  T& operator[](size_t at) { return items_[at]; }
  const T& operator[](size_t at) const { return items_[at]; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }

  void Add(const T& item) { Insert(size_, item); }

  void Insert(size_t at, T item) {
    if (size_ == capacity_) Grow();
    memmove(items_ + at + 1, items_ + at, (size_ - at) * sizeof(T));
    items_[at] = item;
    size_++;
  }

  void Remove(size_t at) {
    size_--;
    memmove(items_ + at, items_ + at + 1, (size_ - at) * sizeof(T));
  }

  template <typename Test>
  void RemoveIf(Test test) {
    size_t kept = 0;
    for (const T& item : *this)
      if (!test(item)) items_[kept++] = item;
    size_ = kept;
  }

  void Clear() { size_ = 0; }

  // Heapsort: it needs no memory, and takes as long for any order.
  template <typename Compare>
  void Sort(Compare compare) {
    auto sink = [&](size_t at, size_t end) {
      for (size_t child; (child = 2 * at + 1) < end; at = child) {
        if (child + 1 < end && compare(items_[child], items_[child + 1]) < 0) child++;
        if (compare(items_[at], items_[child]) >= 0) return;
        const T item = items_[at];
        items_[at] = items_[child];
        items_[child] = item;
      }
    };
    for (size_t at = size_ / 2; at-- > 0;) sink(at, size_);
    for (size_t end = size_; end-- > 1;) {
      const T largest = items_[0];
      items_[0] = items_[end];
      items_[end] = largest;
      sink(0, end);
    }
  }

  // The place where it is, or belongs, in what is sorted: `compare` is below 0 for what comes before it.
  template <typename Compare>
  size_t Place(Compare compare) const {
    size_t from = 0, to = size_;
    while (from < to) {
      const size_t middle = (from + to) / 2;
      if (compare(items_[middle]) < 0)
        from = middle + 1;
      else
        to = middle;
    }
    return from;
  }

 private:
  void Grow() {
    const size_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;
    T* items = static_cast<T*>(Allocate(capacity * sizeof(T)));
    if (size_ > 0) memcpy(static_cast<void*>(items), items_, size_ * sizeof(T));
    Free(items_, capacity_ * sizeof(T));
    items_ = items;
    capacity_ = capacity;
  }

  T* items_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};
