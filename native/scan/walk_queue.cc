#include "scan/walk_queue.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

Node* Node::Make(const Record& record, Node* parent, int fd) {
  const Bytes& entries = record.subdirectories();
  size_t name_bytes = record.name_bytes() + 1;
  void* memory = malloc(sizeof(Node) + name_bytes + entries.size());
  if (memory == nullptr) return nullptr;
  auto* node = new (memory) Node;
  auto* text = reinterpret_cast<uint8_t*>(node + 1);
  memcpy(text, record.name(), name_bytes);
  memcpy(text + name_bytes, entries.data(), entries.size());
  node->parent = parent;
  node->facts = record.facts;
  node->fd = fd;
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
    job->base = nullptr;
    job->name[0] = '\0';
    size_--;
    return true;
  }
  PackedEntry entry(node->next_entry);
  memcpy(job->name, entry.name, entry.name_bytes);
  job->name[entry.name_bytes] = '\0';
  job->request = node->request;
  job->parent = node;
  job->base = node;
  while (job->base != nullptr && job->base->fd < 0) job->base = job->base->parent;
  if (job->base != nullptr) job->base->users++;
  node->next_entry = entry.next;
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
  Node* base = job->base;
  if (base != nullptr && --base->users == 0 && base->entries_left == 0) Close(base);
  return Release(parent, nullptr);
}

// Puts the dead before `dead`. They are a line of ancestors: a node goes with the last of those beneath it.
Node* WalkQueue::Release(Node* node, Node* dead) {
  while (node != nullptr && --node->references == 0) {
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
  held_++;
  if (held_ > most_held_) Close(node);
}

Node* WalkQueue::Clear() {
  Node* dead = nullptr;
  while (top_ != nullptr) {
    Node* node = top_;
    top_ = node->below;
    dead = Release(node, dead);
  }
  size_ = 0;
  return dead;
}

void WalkQueue::Close(Node* node) {
  close(node->fd);
  node->fd = -1;
  held_--;
}

bool WalkQueue::GiveBack() {
  const size_t before = held_;
  for (Node* node = top_; node != nullptr; node = node->below)
    if (node->fd >= 0 && node->users == 0) Close(node);
  most_held_ = held_;
  return held_ < before;
}
