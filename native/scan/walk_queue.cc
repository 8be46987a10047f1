#include "scan/walk_queue.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

Node* Node::Make(const Record& record, Node* parent, int fd) {
  const Bytes& entries = record.subdirectories();
  size_t name_bytes = record.name_bytes() + 1;
  void* memory = malloc(sizeof(Node) + name_bytes + entries.size());
  if (memory == nullptr) return nullptr;
  auto* node = static_cast<Node*>(memory);
  auto* text = reinterpret_cast<uint8_t*>(node + 1);
  memcpy(text, record.name(), name_bytes);
  memcpy(text + name_bytes, entries.data(), entries.size());
  node->parent = parent;
  node->facts = record.facts;
  node->id = Record::kNoParent;
  node->fd = fd;
  node->users = 0;
  node->references = 0;
  node->below = node->newer = node->older = nullptr;
  node->next_entry = text + name_bytes;
  node->entries_left = record.subdirectory_count();
  return node;
}

void Node::Bury(Node* dead) {
  while (dead != nullptr) {
    Node* next = dead->below;
    if (dead->fd >= 0) close(dead->fd);
    free(dead);
    dead = next;
  }
}

bool WalkQueue::Take(Job* job) {
  Node* node = top_;
  if (node == nullptr) {
    if (size_ == 0) return false;
    job->request = requests_->ByPath(next_request_++);
    job->parent = nullptr;
    job->parent_fd = -1;
    job->name[0] = '\0';
    size_--;
    return true;
  }
  PackedEntry entry(node->next_entry);
  memcpy(job->name, entry.name, entry.name_bytes);
  job->name[entry.name_bytes] = '\0';
  job->request = node->request;
  job->parent = node;
  job->parent_fd = node->fd;
  node->next_entry = entry.next;
  node->users++;
  node->references++;
  if (--node->entries_left == 0) {
    top_ = node->below;
    node->below = nullptr;
    node->references--;
  }
  size_--;
  return true;
}

Node* WalkQueue::Done(Job* job) {
  Node* parent = job->parent;
  if (parent == nullptr) return nullptr;
  job->parent = nullptr;
  parent->users--;
  return Release(parent);
}

// The dead are a list of a line of ancestors: a node goes with the last of those beneath it.
Node* WalkQueue::Release(Node* node) {
  Node* dead = nullptr;
  while (node != nullptr && --node->references == 0) {
    if (node->fd >= 0) Drop(node);
    Node* parent = node->parent;
    node->below = dead;
    dead = node;
    node = parent;
  }
  return dead;
}

void WalkQueue::Push(Node* node) {
  if (node->parent != nullptr) node->parent->references++;
  node->references = 1;
  node->below = top_;
  top_ = node;
  size_ += node->entries_left;
  Hold(node);
}

Node* WalkQueue::Clear() {
  Node* dead = nullptr;
  while (top_ != nullptr) {
    Node* node = top_;
    top_ = node->below;
    for (Node* found = Release(node); found != nullptr;) {
      Node* next = found->below;
      found->below = dead;
      dead = found;
      found = next;
    }
  }
  size_ = 0;
  return dead;
}

// Takes the node among those with a descriptor.
void WalkQueue::Hold(Node* node) {
  node->older = newest_;
  node->newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = node;
  newest_ = node;
  held_++;
  // The oldest: on a stack they are the last whose turn comes.
  while (held_ > most_held_ && DropOldest()) {
  }
}

void WalkQueue::Drop(Node* node) {
  (node->older == nullptr ? oldest_ : node->older->newer) = node->newer;
  (node->newer == nullptr ? newest_ : node->newer->older) = node->older;
  held_--;
}

bool WalkQueue::DropOldest() {
  Node* node = oldest_;
  while (node != nullptr && node->users > 0) node = node->newer;
  if (node == nullptr) return false;
  Drop(node);
  close(node->fd);
  node->fd = -1;
  return true;
}

bool WalkQueue::GiveBack() {
  size_t before = held_;
  most_held_ = held_ / 2;
  while (held_ > most_held_ && DropOldest()) {
  }
  return held_ < before;
}

Node* WalkQueue::PinNearest(Node* node, size_t* without) {
  for (*without = 0; node != nullptr && node->fd < 0; node = node->parent) ++*without;
  if (node != nullptr) node->users++;
  return node;
}

bool WalkQueue::Keep(Node* node, int fd) {
  if (node->fd >= 0 || node->entries_left + node->users == 0) return false;
  node->fd = fd;
  Hold(node);
  return true;
}
