#pragma once

#include <cstddef>
#include <cstdint>

// 128 bits that stand for any number of bytes.
struct Digest {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Digest& other) const { return low == other.low && high == other.high; }
  bool is_none() const { return low == 0 && high == 0; }
};

// SipHash-1-3 with 128 bits of output. Its key is the process's own (the kernel's AT_RANDOM): nobody who
// writes the files knows it, so nobody makes two that look alike but by chance, which is 2^-128 for a pair,
// and 2^-111 for a directory among as many as 100,000 that it could be taken for.
class Hasher {
 public:
  Hasher();

  void Add(const void* bytes, size_t count);
  void Add(uint64_t number) { Add(&number, sizeof number); }
  void Add(const Digest& digest) { Add(&digest, sizeof digest); }
  Digest Finish();

 private:
  void Absorb(uint64_t word);
  void Round();

  uint64_t v0_, v1_, v2_, v3_;
  // The bytes that do not fill a word yet.
  uint64_t tail_ = 0;
  uint64_t count_ = 0;
};
