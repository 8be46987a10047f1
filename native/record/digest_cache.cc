#include "record/digest_cache.h"

#include <cstdlib>

// There is always one that is free. A digest's bits are as good as random, and none of them is all zeros.
inline Digest* DigestSet::Slot(const Digest& digest) const {
  size_t at = digest.low & (capacity_ - 1);
  while (!slots_[at].is_none() && !(slots_[at] == digest)) at = (at + 1) & (capacity_ - 1);
  return &slots_[at];
}

bool DigestSet::Has(const Digest& digest) const {
  // None is what a free slot holds.
  return capacity_ > 0 && !digest.is_none() && *Slot(digest) == digest;
}

inline bool DigestSet::Add(const Digest& digest) {
  if (count_ >= capacity_ / 4 * 3 && !Grow()) return false;
  Digest* slot = Slot(digest);
  if (!(*slot == digest)) count_++;
  *slot = digest;
  return true;
}

void DigestSet::Clear() {
  free(slots_);
  slots_ = nullptr;
  capacity_ = count_ = 0;
}

void DigestSet::Swap(DigestSet* other) {
  DigestSet before;
  before.slots_ = slots_, before.capacity_ = capacity_, before.count_ = count_;
  slots_ = other->slots_, capacity_ = other->capacity_, count_ = other->count_;
  other->slots_ = before.slots_, other->capacity_ = before.capacity_, other->count_ = before.count_;
  before.slots_ = nullptr;
}

bool DigestSet::Grow() {
  DigestSet larger;
  larger.capacity_ = capacity_ == 0 ? 64 : 2 * capacity_;
  larger.slots_ = static_cast<Digest*>(calloc(larger.capacity_, sizeof(Digest)));
  if (larger.slots_ == nullptr) return false;
  larger.count_ = count_;
  for (size_t i = 0; i < capacity_; i++) {
    if (!slots_[i].is_none()) *larger.Slot(slots_[i]) = slots_[i];
  }
  Swap(&larger);
  return true;
}

void DigestCache::Begin() {
  found_.Clear();
  failed_ = false;
}

void DigestCache::Find(const Digest& digest) {
  failed_ = failed_ || !found_.Add(digest);
}

void DigestCache::Commit() {
  known_.Swap(&found_);
  found_.Clear();
  if (failed_) known_.Clear();
  failed_ = false;
}

void DigestCache::Forget() {
  known_.Clear();
  Begin();
}
