#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A path, or a line, of words and numbers; what is too long is cut off, and said to be.
class Text {
 public:
  Text() { text_[0] = '\0'; }

  Text& Add(const char* text) {
    while (*text != '\0') Put(*text++);
    return *this;
  }

  Text& Add(char byte) {
    Put(byte);
    return *this;
  }

  Text& Add(uint64_t number) {
    char digits[20];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) Put(digits[--count]);
    return *this;
  }

  // As JSON has it between quotes, as far as there is room for that and for what ends the line. A byte that
  // is no ASCII is passed on: what is no UTF-8 is the reader's to replace.
  Text& AddEscaped(const char* text) {
    for (; *text != '\0' && length_ + kEnd < sizeof text_; text++) {
      const auto byte = static_cast<unsigned char>(*text);
      if (byte == '"' || byte == '\\') Put('\\');
      if (byte >= 0x20 && byte != 0x7f)
        Put(*text);
      else
        Add("\\u00").Put(kHex[byte >> 4]), Put(kHex[byte & 15]);
    }
    return *this;
  }

  const char* text() const { return text_; }
  size_t length() const { return length_; }
  bool is_cut() const { return is_cut_; }

 private:
  static constexpr size_t kEnd = 128;
  static constexpr char kHex[] = "0123456789abcdef";

  void Put(char byte) {
    is_cut_ = is_cut_ || length_ + 1 >= sizeof text_;
    if (!is_cut_) text_[length_++] = byte;
    text_[length_] = '\0';
  }

  char text_[PATH_MAX + 256];
  size_t length_ = 0;
  bool is_cut_ = false;
};

// The number that a text begins with, behind blanks, and moves behind it; 0 if there is none.
inline uint64_t NumberAt(const char** text) {
  while (**text == ' ' || **text == '\t') (*text)++;
  uint64_t number = 0;
  while (**text >= '0' && **text <= '9') number = number * 10 + static_cast<uint64_t>(*(*text)++ - '0');
  return number;
}
