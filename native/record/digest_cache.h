#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "record/digest.h"
#include "threads/shared.h"

// Digests, each at most once: 16 bytes in a table of which between three and six of eight are in use.
class DigestSet {
 public:
  DigestSet() = default;
  ~DigestSet() { Clear(); }
  DigestSet(const DigestSet&) = delete;
  DigestSet& operator=(const DigestSet&) = delete;

  bool Has(const Digest& digest) const {
    // None is what a free slot holds.
    return capacity_ > 0 && !digest.is_none() && *Slot(digest) == digest;
  }

  // False when there is no memory.
  bool Add(const Digest& digest) {
    if (count_ >= capacity_ / 4 * 3 && !Grow()) return false;
    Digest* slot = Slot(digest);
    if (!(*slot == digest)) count_++;
    *slot = digest;
    return true;
  }

  void Clear() {
    free(slots_);
    slots_ = nullptr;
    capacity_ = count_ = 0;
  }

  void Swap(DigestSet* other) {
    std::swap(slots_, other->slots_);
    std::swap(capacity_, other->capacity_);
    std::swap(count_, other->count_);
  }

 private:
  bool Grow() {
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

  // Returns the slot of a digest, or the free slot that it belongs in: there is always one that is free. A
  // digest's bits are as good as random, and none of them is all zeros.
  Digest* Slot(const Digest& digest) const {
    size_t at = digest.low & (capacity_ - 1);
    while (!slots_[at].is_none() && !(slots_[at] == digest)) at = (at + 1) & (capacity_ - 1);
    return &slots_[at];
  }

  Digest* slots_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
};

// JavaScript's beliefs about the directories that it polls, as a digest for each: of its listing, and of the
// place where that was made. A directory whose digest is known need not be sent again.
//
// Belongs to the walker and to its walks: see Walk. Known is read by a walk's threads and written between
// walks; found is the walk's, under its lock.
class DigestCache : public Shared<DigestCache> {
 public:
  bool Knows(const Digest& digest) const { return known_.Has(digest); }

  // Before a walk.
  void Begin() {
    found_.Clear();
    failed_ = false;
  }

  // One that the walk has found.
  void Find(const Digest& digest) { failed_ = failed_ || !found_.Add(digest); }

  // After it: JavaScript has taken in all that it was sent.
  void Commit() {
    known_.Swap(&found_);
    if (failed_) known_.Clear();
    Begin();
  }

  // Drops all digests: JavaScript's beliefs are no longer a walk's findings.
  void Forget() {
    known_.Clear();
    Begin();
  }

  // The time that the last pass took. Written by a walk's thread, read by the loop's.
  void NoteTime(uint64_t nanoseconds) { took_.store(nanoseconds, std::memory_order_relaxed); }
  uint64_t took() const { return took_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> took_{0};
  DigestSet known_;
  DigestSet found_;
  // Not all that was found could be noted.
  bool failed_ = false;
};
