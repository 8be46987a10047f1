#pragma once

#include <string.h>

#include <algorithm>
#include <vector>

#include "base/statx.h"

// A name in a directory, and what it is.
struct Entry {
  Statx facts;
  // The look by which, or during which, it was last brought up to date.
  uint64_t look;
  // It has gone since that look began.
  bool is_gone;
  // A local IN_DELETE has told of that.
  bool is_removed;
  // A local event is still to tell of that.
  bool is_leaving;
  uint16_t name_length;
  char name[1];

  static Entry* Make(const char* name, const Statx& facts, uint64_t look);
  static void Destroy(Entry* entry);
};

// The known entries of a directory, in the order of their names.
class Listing {
 public:
  Listing() = default;
  ~Listing() { Clear(); }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  void Set(const char* name, const Statx& facts, uint64_t look);
  Entry* SetGone(const char* name, uint64_t look);
  // Behind the others: sorted by Sort().
  void Add(Entry* entry) { entries_.push_back(entry); }
  void Sort() {
    const auto is_before = [](const Entry* a, const Entry* b) { return strcmp(a->name, b->name) < 0; };
    // By a heap, which takes a quarter of the code of std::sort().
    std::partial_sort(entries_.begin(), entries_.end(), entries_.end(), is_before);
  }
  void Clear();
  // nullptr: there is none of that name.
  Entry* Find(const char* name) const;
  // Leaves its entries to others: they are not destroyed with it any more.
  void Release() { entries_.clear(); }

  size_t size() const { return entries_.size(); }
  Entry* operator[](size_t at) const { return entries_[at]; }

 private:
  std::vector<Entry*>::const_iterator Place(const char* name) const;

  std::vector<Entry*> entries_;
};
