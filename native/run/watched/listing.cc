#include "run/watched/listing.h"

#include <new>

Entry* Entry::Make(const char* name, const Statx& facts, uint64_t look) {
  const size_t length = strlen(name);
  auto* made = new (operator new(sizeof(Entry) + length)) Entry();
  made->facts = facts;
  made->look = look;
  made->is_gone = made->is_removed = made->is_leaving = false;
  made->name_length = static_cast<uint16_t>(length);
  memcpy(made->name, name, length + 1);
  return made;
}

void Entry::Destroy(Entry* entry) {
  if (entry != nullptr) operator delete(entry, sizeof(Entry) + entry->name_length);
}

void Listing::Clear() {
  for (Entry* each : entries_) Entry::Destroy(each);
  entries_.clear();
}

std::vector<Entry*>::const_iterator Listing::Place(const char* name) const {
  return std::lower_bound(entries_.begin(), entries_.end(), name, [](const Entry* each, const char* sought) {
    return strcmp(each->name, sought) < 0;
  });
}

Entry* Listing::Find(const char* name) const {
  const auto at = Place(name);
  return at != entries_.end() && strcmp((*at)->name, name) == 0 ? *at : nullptr;
}

void Listing::Set(const char* name, const Statx& facts, uint64_t look) {
  Entry* had = Find(name);
  if (had == nullptr) {
    entries_.insert(Place(name), Entry::Make(name, facts, look));
    return;
  }
  had->facts = facts;
  had->look = look;
  had->is_gone = had->is_removed = had->is_leaving = false;
}

Entry* Listing::SetGone(const char* name, uint64_t look) {
  Entry* had = Find(name);
  // A look that has begun may have seen it.
  if (had == nullptr) Set(name, Statx(), look), had = Find(name);
  had->look = look;
  had->is_gone = true;
  return had;
}
