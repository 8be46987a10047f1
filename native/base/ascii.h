#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

constexpr uint64_t kHighBits = 0x8080808080808080;

// Looks at eight bytes at a time: names are looked at one by one, and there are many.
inline bool IsAscii(const void* bytes, size_t length) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  uint64_t bits = 0, word;
  for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
    memcpy(&word, at, sizeof word);
    bits |= word;
  }
  while (length > 0) bits |= at[--length];
  return (bits & kHighBits) == 0;
}
