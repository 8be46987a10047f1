#pragma once

#include <atomic>

// The base of an object that belongs to several owners, often on several threads, and goes with the last of
// them. The first owner is the one who makes it.
template <typename Class>
class Shared {
 public:
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  Class* Share() {
    references_.fetch_add(1);
    return static_cast<Class*>(this);
  }
  void Release() {
    if (references_.fetch_sub(1) == 1) delete static_cast<Class*>(this);
  }

 protected:
  Shared() = default;

 private:
  std::atomic<int> references_{1};
};
