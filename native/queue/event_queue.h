#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.h"
#include "queue/arena.h"
#include "queue/packing.h"

// Records in the order in which the kernel made them, from the arena or from the fd itself.
//
// Two threads read one inotify fd: the loop's, and the guard's while the loop is stuck. What the guard took
// is older than what is still in the kernel, so both the read and the choice where to read from happen under
// one lock.
class EventQueue {
 public:
  // The records last given to the loop; valid until the next call of Next or the end of this object.
  class Records {
   public:
    Records() = default;
    ~Records() { Chunk::Release(chunk_); }
    Records(const Records&) = delete;
    Records& operator=(const Records&) = delete;

    const char* data() const { return chunk_ != nullptr ? chunk_->data() : buffer_; }
    size_t bytes() const { return bytes_; }

    // They came from the kernel, which had no more: another record of any length would have fitted.
    bool was_short() const { return chunk_ == nullptr && bytes_ + kMaxRecordBytes <= kReadBytes; }

   private:
    friend class EventQueue;
    Chunk* chunk_ = nullptr;
    size_t bytes_ = 0;
    alignas(16) char buffer_[kReadBytes];
  };

  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // 0 or -errno.
  int Open(size_t arena_bytes);
  int fd() const { return fd_.get(); }

  // Gives the instance back to the kernel. The guard's thread must have ended, and the loop no longer poll
  // the fd.
  void Close() { fd_.reset(); }

  // Loop's thread: the next records. The number of bytes, 0 when there are none, -errno.
  int Next(Records* records);

  // Loop's thread: puts a mark behind all that the kernel holds now. The mark's number, which is below
  // kNoMark, or -errno.
  //
  // The queue is one stream of bytes, of which the kernel says how many it holds (FIONREAD): so a mark is a
  // place in that stream, and needs no watch.
  int Mark();

  // Loop's thread: the marks in or behind what Next has given last, each behind so many bytes. Their number.
  size_t TakeMarks(const Records& given, PlacedMark* marks);

  // Bytes that the kernel holds, or -errno.
  int Waiting() const;

  // Guard's thread: moves what the kernel holds into the arena, until the loop reads again. False: the arena
  // is full, or there was an error, which the loop's own read will meet, and has somebody to tell.
  bool DrainIntoArena();

  // Counts the loop's calls of Next: unchanged for a while, with something to read, means that the loop is
  // stuck. Sequentially consistent: the guard stores "the arena is full" and then loads this, the loop does
  // the reverse.
  uint32_t reads() const { return reads_.load(); }

 private:
  int Read(char* into, size_t room);
  void TopUp(Chunk* chunk);

  UniqueFd fd_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Arena arena_;
  // Bytes read from the kernel; under the lock, as the reads are.
  uint64_t read_bytes_ = 0;
  // The loop's alone: bytes given to it, the marks ahead by their places, and the number of the last.
  uint64_t given_bytes_ = 0;
  PlacedMark marks_[kMostMarks];
  size_t mark_count_ = 0;
  int32_t last_mark_ = kNoMark;
  std::atomic<uint32_t> reads_{0};
};
