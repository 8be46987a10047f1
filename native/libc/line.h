#pragma once

#include <stddef.h>

// A short line of words and numbers: snprintf(3) without all that a static program would have of libc with
// it.
class Line {
 public:
  Line& Add(const char* text) {
    while (*text != '\0') Put(*text++);
    return *this;
  }

  Line& Add(unsigned number, unsigned base = 10) {
    char digits[32];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % base);
      number /= base;
    } while (number != 0);
    while (count > 0) Put(digits[--count]);
    return *this;
  }

  const char* text() const { return text_; }
  size_t length() const { return length_; }

 private:
  // What is too long is cut off.
  void Put(char byte) {
    if (length_ + 1 < sizeof text_) text_[length_++] = byte;
  }

  char text_[128] = {};
  size_t length_ = 0;
};
