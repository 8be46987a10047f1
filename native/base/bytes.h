#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// Memory that grows as it is filled and is kept for the next use. When no more is to be had it says so, once
// and for all until Clear(): nothing is thrown, and nothing half written.
class Bytes {
 public:
  Bytes() = default;
  ~Bytes() { free(data_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool failed() const { return failed_; }

  // Returns the place for up to `most` bytes, to be followed by Add; null when there is no memory.
  uint8_t* Room(size_t most) {
    if (data_ != nullptr && capacity_ - size_ >= most) return data_ + size_;
    return Grow(most) ? data_ + size_ : nullptr;
  }
  void Add(size_t bytes) { size_ += bytes; }

  // False when there is no memory.
  bool Append(const void* from, size_t bytes) {
    uint8_t* room = Room(bytes);
    if (room != nullptr) memcpy(room, from, bytes), Add(bytes);
    return room != nullptr;
  }

  void Clear() {
    size_ = 0;
    failed_ = false;
    // The memory that one huge directory needed is not kept for all that follow.
    if (capacity_ > kKept) Reset();
  }

 private:
  static constexpr size_t kFirst = 4 * 1024;
  static constexpr size_t kKept = 1024 * 1024;

  bool Grow(size_t most) {
    size_t capacity = capacity_ == 0 ? kFirst : 2 * capacity_;
    // No more than that: whoever asks for so much at once is likely to need no more.
    if (capacity < size_ + most) capacity = size_ + most;
    void* data = failed_ ? nullptr : realloc(data_, capacity);
    failed_ = data == nullptr;
    if (failed_) return false;
    data_ = static_cast<uint8_t*>(data);
    capacity_ = capacity;
    return true;
  }

  void Reset() {
    free(data_);
    data_ = nullptr;
    capacity_ = 0;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  bool failed_ = false;
};
