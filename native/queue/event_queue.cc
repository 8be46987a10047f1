#include "queue/event_queue.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/retry.h"
#include "threads/locked.h"

int EventQueue::Open(size_t arena_bytes) {
  arena_.SetBound(arena_bytes);
  // CLOEXEC: a child that inherits the fd shares the queue and steals its events.
  fd_.reset(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  return fd_.is_open() ? 0 : -errno;
}

int EventQueue::Read(char* into, size_t room) {
  int64_t bytes = Retry([&] { return read(fd_.get(), into, room); });
  if (bytes >= 0) read_bytes_ += static_cast<uint64_t>(bytes);
  return bytes == -EAGAIN ? 0 : static_cast<int>(bytes);
}

int EventQueue::Next(Records* records) {
  Chunk::Release(records->chunk_);
  records->chunk_ = nullptr;
  records->bytes_ = 0;
  reads_.fetch_add(1);

  Locked locked(&lock_);
  Chunk* chunk = arena_.Take();
  // A chunk can be empty: taken for a read that then found the loop had been quicker.
  for (; chunk != nullptr && chunk->used == 0; chunk = arena_.Take()) Chunk::Release(chunk);
  records->chunk_ = chunk;
  if (chunk == nullptr) {
    int bytes = Read(records->buffer_, sizeof records->buffer_);
    if (bytes <= 0) return bytes;
    records->bytes_ = static_cast<size_t>(bytes);
  } else {
    if (arena_.empty()) TopUp(chunk);
    records->bytes_ = chunk->used;
  }
  given_bytes_ += records->bytes_;
  return static_cast<int>(records->bytes_);
}

int EventQueue::Waiting() const {
  int bytes = 0;
  return ioctl(fd_.get(), FIONREAD, &bytes) < 0 ? -errno : bytes;
}

int EventQueue::Mark() {
  uint64_t at;
  {
    // Else the guard might read between the two.
    Locked locked(&lock_);
    int waiting = Waiting();
    if (waiting < 0) return waiting;
    at = read_bytes_ + static_cast<uint64_t>(waiting);
  }
  // One that is met later than need be is as good, and whoever has set it waits a little longer.
  if (mark_count_ == kMostMarks) {
    marks_[mark_count_ - 1].at = at;
    return marks_[mark_count_ - 1].number;
  }
  last_mark_ = last_mark_ == INT_MIN ? kNoMark - 1 : last_mark_ - 1;
  marks_[mark_count_++] = {at, last_mark_};
  return last_mark_;
}

size_t EventQueue::TakeMarks(const Records& given, PlacedMark* marks) {
  uint64_t start = given_bytes_ - given.bytes_;
  size_t met = 0;
  for (; met < mark_count_ && marks_[met].at <= given_bytes_; met++)
    marks[met] = {marks_[met].at < start ? 0 : marks_[met].at - start, marks_[met].number};
  mark_count_ -= met;
  memmove(marks_, marks_ + met, mark_count_ * sizeof *marks_);
  return met;
}

// Reads the records that the kernel has behind the guard's last ones: the guard may have read between two
// that belong together, such as the halves of a rename, which one call of the writer's makes.
void EventQueue::TopUp(Chunk* chunk) {
  size_t room = Chunk::kCapacity - chunk->used;
  if (room < kMaxRecordBytes) return;
  int bytes = Read(chunk->data() + chunk->used, room);
  // An error is met again by the next read.
  if (bytes > 0) chunk->used += static_cast<size_t>(bytes);
}

bool EventQueue::DrainIntoArena() {
  uint32_t before = reads();
  // A lock for each read, and no further once the loop is back: many writers can refill the queue as fast as
  // it is read, and the loop would wait until the whole arena is full.
  while (reads() == before) {
    Locked locked(&lock_);
    Chunk* chunk = arena_.Writable();
    if (chunk == nullptr) return false;
    int bytes = Read(chunk->data() + chunk->used, Chunk::kCapacity - chunk->used);
    if (bytes <= 0) return bytes == 0;
    chunk->used += static_cast<size_t>(bytes);
  }
  return true;
}
