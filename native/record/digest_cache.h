#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/digest.h"

// Digests, each at most once: 16 bytes in a table of which between three and six of eight are in use.
class DigestSet {
 public:
  DigestSet() = default;
  ~DigestSet() { Clear(); }
  DigestSet(const DigestSet&) = delete;
  DigestSet& operator=(const DigestSet&) = delete;

  bool Has(const Digest& digest) const;
  // False when there is no memory.
  bool Add(const Digest& digest);
  void Clear();
  void Swap(DigestSet* other);

 private:
  bool Grow();
  // Returns the slot of a digest, or the free slot that it belongs in.
  Digest* Slot(const Digest& digest) const;

  Digest* slots_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
};

// JavaScript's beliefs about the directories that it polls, as a digest for each: of its listing, and of the
// place where that was made. A directory whose digest is known need not be sent again.
//
// Belongs to the walker and to its walks: see Walk. Known is read by a walk's threads and written between
// walks; found is the walk's, under its lock.
class DigestCache {
 public:
  DigestCache* Share() {
    references_.fetch_add(1);
    return this;
  }
  void Release() {
    if (references_.fetch_sub(1) == 1) delete this;
  }

  bool Knows(const Digest& digest) const { return known_.Has(digest); }

  // Before a walk.
  void Begin();
  // One that the walk has found.
  void Find(const Digest& digest);

  // After it: JavaScript has taken in all that it was sent.
  void Commit();
  // Drops all digests: JavaScript's beliefs are no longer a walk's findings.
  void Forget();

  // The time that the last pass took. Written by a walk's thread, read by the loop's.
  void NoteTime(uint64_t nanoseconds) { took_.store(nanoseconds, std::memory_order_relaxed); }
  uint64_t took() const { return took_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> references_{1};
  std::atomic<uint64_t> took_{0};
  DigestSet known_;
  DigestSet found_;
  // Not all that was found could be noted.
  bool failed_ = false;
};
