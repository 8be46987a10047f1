#include "record/digest.h"

#include <endian.h>
#include <sys/auxv.h>

#include <cstring>

namespace {

uint64_t Rotate(uint64_t word, int bits) {
  return (word << bits) | (word >> (64 - bits));
}

}  // namespace

Hasher::Hasher() {
  // 16 bytes that the kernel makes for each process (getauxval(3)). Without them it is a hash like any other.
  uint64_t key[2] = {0, 0};
  const auto* random = reinterpret_cast<const uint8_t*>(getauxval(AT_RANDOM));
  if (random != nullptr) memcpy(key, random, sizeof key);
  v0_ = key[0] ^ 0x736f6d6570736575;
  v1_ = key[1] ^ 0x646f72616e646f6d ^ 0xee;
  v2_ = key[0] ^ 0x6c7967656e657261;
  v3_ = key[1] ^ 0x7465646279746573;
}

void Hasher::Round() {
  v0_ += v1_, v2_ += v3_;
  v1_ = Rotate(v1_, 13) ^ v0_, v3_ = Rotate(v3_, 16) ^ v2_;
  v0_ = Rotate(v0_, 32);
  v2_ += v1_, v0_ += v3_;
  v1_ = Rotate(v1_, 17) ^ v2_, v3_ = Rotate(v3_, 21) ^ v0_;
  v2_ = Rotate(v2_, 32);
}

void Hasher::Absorb(uint64_t word) {
  v3_ ^= word;
  Round();
  v0_ ^= word;
}

void Hasher::Add(const void* bytes, size_t count) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  const uint8_t* end = from + count;
  size_t filled = count_ % sizeof tail_;
  count_ += count;
  for (; filled > 0 && from < end; from++) {
    tail_ |= uint64_t{*from} << (8 * filled);
    if (++filled < sizeof tail_) continue;
    Absorb(tail_);
    tail_ = 0;
    filled = 0;
    from++;
    break;
  }
  for (; static_cast<size_t>(end - from) >= sizeof tail_; from += sizeof tail_) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    Absorb(le64toh(word));
  }
  for (; from < end; from++) tail_ |= uint64_t{*from} << (8 * filled++);
}

Digest Hasher::Finish() {
  Absorb(tail_ | (count_ << 56));
  v2_ ^= 0xee;
  for (int i = 0; i < 3; i++) Round();
  Digest digest;
  digest.low = v0_ ^ v1_ ^ v2_ ^ v3_;
  v1_ ^= 0xdd;
  for (int i = 0; i < 3; i++) Round();
  digest.high = v0_ ^ v1_ ^ v2_ ^ v3_;
  return digest;
}
