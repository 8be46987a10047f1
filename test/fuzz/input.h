#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// The input of libFuzzer, taken from the front. Gives zeros when the input is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool is_used_up() const { return left_ == 0; }

  template <typename Number>
  Number Take() {
    Number number = 0;
    std::string bytes = TakeBytes(sizeof number);
    memcpy(&number, bytes.data(), bytes.size());
    return number;
  }

  // Takes up to `most` bytes.
  std::string TakeBytes(size_t most) {
    size_t bytes = most < left_ ? most : left_;
    std::string taken(reinterpret_cast<const char*>(data_), bytes);
    data_ += bytes;
    left_ -= bytes;
    return taken;
  }

  // Takes a name like the kernel's: without NUL and '/', not empty.
  std::string TakeName(size_t most) {
    std::string name = TakeBytes(most);
    for (char& byte : name)
      if (byte == '\0' || byte == '/') byte = 'n';
    return name.empty() ? "n" : name;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// Memory of the exact size, aligned like malloc's: the sanitizer reports an access beyond it.
class Exact {
 public:
  Exact(const void* bytes, size_t size) : memory_(static_cast<char*>(malloc(size))) {
    if (size > 0) memcpy(memory_, bytes, size);
  }
  ~Exact() { free(memory_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  const char* data() const { return memory_; }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(memory_); }

 private:
  char* memory_;
};

// A failed check is a finding, like a report of the sanitizers.
inline void Check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}
