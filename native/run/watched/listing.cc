#include "run/watched/listing.h"

#include <new>

Entry* Entry::Make(const char* name, const Statx& facts, uint64_t look) {
  const size_t length = strlen(name);
  auto* made = new (Allocate(sizeof(Entry) + length)) Entry();
  made->facts = facts;
  made->look = look;
  made->is_gone = made->is_removed = made->is_leaving = false;
  made->name_length = static_cast<uint16_t>(length);
  memcpy(made->name, name, length + 1);
  return made;
}

void Entry::Destroy(Entry* entry) {
  if (entry != nullptr) Free(entry, sizeof(Entry) + entry->name_length);
}

void Listing::Clear() {
  for (Entry* each : entries_) Entry::Destroy(each);
  entries_.Clear();
}

size_t Listing::Place(const char* name) const {
  return entries_.Place([name](const Entry* entry) { return strcmp(entry->name, name); });
}

Entry* Listing::Find(const char* name) const {
  const size_t at = Place(name);
  return at < entries_.size() && strcmp(entries_[at]->name, name) == 0 ? entries_[at] : nullptr;
}

void Listing::Set(const char* name, const Statx& facts, uint64_t look) {
  Entry* had = Find(name);
  if (had == nullptr) {
    entries_.Insert(Place(name), Entry::Make(name, facts, look));
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
