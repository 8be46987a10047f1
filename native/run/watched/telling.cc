#include "run/watched/telling.h"

#include <algorithm>

namespace {

constexpr char kData[] = "..data", kDraft[] = "..data_tmp";

// A name that leads to something else than before: new, or renamed over what it was.
bool IsNew(const Difference& each) {
  return each.now != nullptr && (each.before == nullptr || !IsSameEntry(each.before->facts, each.now->facts));
}

bool IsGone(const Difference& each) {
  return each.before != nullptr && (each.now == nullptr || !IsSameEntry(each.before->facts, each.now->facts));
}

// The number of a directory that was removed may be that of a new one.
bool IsMoved(const Statx& from, const Statx& to) {
  return from.ino == to.ino && from.device == to.device && HasSameKind(from, to) && from.mtime == to.mtime &&
         (from.is_directory() || from.size == to.size);
}

// The AtomicWriter's swap (k8s.io/kubernetes/pkg/volume/util): the draft is renamed too soon for any look.
bool IsSwap(const Difference& each) {
  return strcmp(each.now->name, kData) == 0 && each.now->facts.is_symlink() && each.from == nullptr;
}

void TellOneNew(Ground* ground, Difference& each) {
  Shadow* shadow = each.polled->shadow();
  const Entry& now = *each.now;
  const bool is_directory = now.facts.is_directory();
  each.is_told = true;
  if (each.from != nullptr) {
    Shadow* from = each.from->polled->shadow();
    Shadow::TellMoved(ground, from, each.from->before->name, shadow, now.name, is_directory);
    return;
  }
  if (IsSwap(each)) {
    shadow->Tell(IN_CREATE, kDraft, false);
    Shadow::TellMoved(ground, shadow, kDraft, shadow, kData, false);
    return;
  }
  const bool is_replaced = each.before != nullptr && each.to == nullptr;
  if (is_replaced && !is_directory && HasSameKind(each.before->facts, now.facts)) {
    shadow->Tell(IN_MOVED_TO, now.name, false);
    return;
  }
  if (is_replaced) shadow->Tell(IN_DELETE, now.name, each.before->facts.is_directory());
  shadow->Tell(IN_CREATE, now.name, is_directory);
  if (!now.facts.is_file()) return;
  if (now.facts.size > 0) shadow->Tell(IN_MODIFY, now.name, false);
  shadow->Tell(IN_CLOSE_WRITE, now.name, false);
}

// Entries that were renamed one to the next, as logs are, have gone from the last name on. In a circle, as by
// RENAME_EXCHANGE, any may be the first.
void TellNew(Ground* ground, Difference& each) {
  Difference* last = &each;
  while (last->to != nullptr && !last->to->is_told && last->to != &each) last = last->to;
  for (; last != &each; last = last->from) TellOneNew(ground, *last);
  TellOneNew(ground, each);
}

void TellChanged(const Difference& each) {
  Shadow* shadow = each.polled->shadow();
  const Entry& now = *each.now;
  if (now.facts.is_file() && !HasSameContent(each.before->facts, now.facts)) {
    shadow->Tell(IN_MODIFY, now.name, false);
    shadow->Tell(IN_CLOSE_WRITE, now.name, false);
    if (HasSameRights(each.before->facts, now.facts)) return;
  }
  shadow->Tell(IN_ATTRIB, now.name, now.facts.is_directory());
}

}  // namespace

void FindMoved(std::vector<Difference>* found) {
  std::vector<Difference*> fresh;
  for (Difference& each : *found) {
    each.from = each.to = nullptr;
    if (IsNew(each)) fresh.push_back(&each);
  }
  const auto ino_of = [](const Difference* each) { return each->now->facts.ino; };
  std::partial_sort(fresh.begin(), fresh.end(), fresh.end(),
                    [&](const Difference* a, const Difference* b) { return ino_of(a) < ino_of(b); });
  for (Difference& each : *found) {
    if (!IsGone(each)) continue;
    const uint64_t ino = each.before->facts.ino;
    auto at =
        std::lower_bound(fresh.begin(), fresh.end(), ino,
                         [&](const Difference* other, uint64_t sought) { return ino_of(other) < sought; });
    for (; at != fresh.end() && ino_of(*at) == ino; at++) {
      if ((*at)->from != nullptr || !IsMoved(each.before->facts, (*at)->now->facts)) continue;
      each.to = *at;
      (*at)->from = &each;
      break;
    }
  }
}

void TellAll(Ground* ground, std::vector<Difference>* found) {
  // A new version comes before what leads to it, and what an old one was goes last.
  for (Difference& each : *found)
    if (!each.is_told && IsNew(each) && each.now->facts.is_directory()) TellNew(ground, each);
  for (Difference& each : *found)
    if (!each.is_told && IsNew(each) && IsSwap(each)) TellNew(ground, each);
  for (Difference& each : *found) {
    if (each.is_told || each.now == nullptr) continue;
    if (IsNew(each))
      TellNew(ground, each);
    else
      TellChanged(each);
  }
  for (const Difference& each : *found)
    if (each.now == nullptr && each.to == nullptr)
      each.polled->shadow()->Tell(IN_DELETE, each.before->name, each.before->facts.is_directory());
}
