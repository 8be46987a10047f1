#pragma once

#include <cstddef>
#include <cstdint>

#include "base/statx.h"
#include "record/record.h"
#include "scan/requests.h"

// The most bytes in the path of a directory that is gone into: four times PATH_MAX, which no program gets to
// by its path. The kernel knows no bound (mkdirat(2), and rename(2) of one tree into another). Whoever may
// write below a root could make paths whose lengths add up to the square of the number of directories.
constexpr size_t kMostPathBytes = 16384;

// A directory with subdirectories that are still to be walked, or that are being. Kept while any directory
// beneath it is: its name is part of their way.
struct Node {
  // A reference of its own on it; null for a request's own directory.
  Node* parent;
  size_t request = 0;
  // Record::kNoParent as long as JavaScript has not been told of it. Under the walk's lock.
  uint32_t id = Record::kNoParent;
  Statx facts;
  Digest place;
  // The bytes of the path that JavaScript will give it.
  size_t path_bytes = 0;
  // The device of the request's root.
  uint64_t root_device = 0;
  Cache cache = Cache::kTrue;

  // O_PATH, for the subdirectories' openat(2); -1: none. The rest is WalkQueue's.
  int fd;
  // Jobs that are using fd.
  uint32_t users = 0;
  uint32_t references = 0;
  Node* below = nullptr;
  const uint8_t* next_entry;
  uint32_t entries_left;
  const char* name() const { return reinterpret_cast<const char*>(this + 1); }

  // Makes the node of the record just made. Null when there is no memory. Takes over the fd.
  static Node* Make(const Record& record, Node* parent, int fd);
  // Closes and frees a list of them, linked by `below`.
  static void Bury(Node* dead);
};

// One directory to walk.
struct Job {
  size_t request = 0;
  // Null: the request's own directory.
  Node* parent = nullptr;
  // The nearest that has a descriptor, from the parent up its line of ancestors: not to be closed before
  // Done. Null: not even the request's own directory has one.
  Node* base = nullptr;
  char name[kMaxNameBytes + 1];
};

// The directories still to be walked: a stack, so that few are begun at a time, and below it the requests by
// their paths. Not locked: its owner is.
class WalkQueue {
 public:
  WalkQueue() = default;
  ~WalkQueue() { Node::Bury(Clear()); }
  WalkQueue(const WalkQueue&) = delete;
  WalkQueue& operator=(const WalkQueue&) = delete;

  void Begin(const Requests* requests) {
    requests_ = requests;
    size_ = requests->count();
    next_request_ = 0;
  }

  // Returns the number of directories that wait.
  size_t size() const { return size_; }

  bool Take(Job* job);
  // Ends the job. Returns the nodes that nobody needs any more, to be buried.
  Node* Done(Job* job);
  void Push(Node* node);
  // Forgets all that waits. Returns nodes likewise.
  Node* Clear();

  // Gives all descriptors back that no job uses just now, as a process that has no more left needs: no more
  // than are left are held from now on. False when there is none.
  bool GiveBack();

 private:
  // Enough for any tree but the deepest, and few among the 1024 that a process has by default.
  static constexpr size_t kMaxHeld = 128;

  Node* Release(Node* node, Node* dead);
  void Close(Node* node);

  const Requests* requests_ = nullptr;
  size_t next_request_ = 0;
  size_t size_ = 0;
  Node* top_ = nullptr;
  // The number of nodes with a descriptor.
  size_t held_ = 0;
  size_t most_held_ = kMaxHeld;
};
