#include "walker/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "threads/locked.h"

namespace {

constexpr uint64_t kMillisecond = 1000000;

}  // namespace

int Walk::Start(const uint8_t* requests, size_t bytes, int queue, uint32_t mask, const Repeat& repeat) {
  int error = requests_.Parse(requests, bytes);
  if (error < 0) return error;
  if (queue >= 0) {
    // A descriptor of its own: the number may be another file's by the time the watches are added. fcntl(2)
    // itself is fcntl64 of GLIBC_2.28 when linked on a newer system.
    queue_.reset(static_cast<int>(syscall(SYS_fcntl, queue, F_DUPFD_CLOEXEC, 0)));
    if (!queue_.is_open()) return -errno;
  }
  stat_only_ = static_cast<StatOnly*>(calloc(requests_.count() + 1, sizeof(StatOnly)));
  if (stat_only_ == nullptr) return -ENOMEM;
  plan_ = {&requests_, queue_.get(), mask, &cancelled_, memory_, stat_only_};
  repeat_ = repeat;
  Begin();
  started_ = 1;
  return StartOne();
}

int Walk::StartOne() {
  int error = threads_->Run(Main, Share());
  if (error < 0) Release();
  return error;
}

void Walk::Main(void* self) {
  auto* walk = static_cast<Walk*>(self);
  walk->Run();
  walk->Release();
}

void Walk::Run() {
  auto* visitor = new DirReader(plan_, &lock_, &walk_queue_);
  Job job;
  Turn turn;
  {
    Locked locked(&lock_);
    visitors_[visitor_count_++] = visitor;
    turn = NextTurn(&job);
  }
  for (;;) {
    while (turn == Turn::kVisit) turn = HandIn(visitor, &job, visitor->Visit(job));
    if (turn == Turn::kLeave) break;
    Locked locked(&lock_);
    if (!Rest()) break;
    turn = NextTurn(&job);
  }
  delete visitor;
  if (turn == Turn::kEnd) End();
}

// A pass. Under the lock, or before there are threads.
void Walk::Begin() {
  memory_->Begin();
  walk_queue_.Begin(&requests_);
  next_id_ = static_cast<uint32_t>(requests_.count());
  has_told_ = false;
  began_ = uv_hrtime();
}

// Under the lock, which it gives up while it waits. False: there is no other pass.
bool Walk::Rest() {
  // All other threads wait.
  for (int i = 0; i < visitor_count_; i++) visitors_[i]->EndPass();
  uint64_t now = uv_hrtime();
  uint64_t took = now - began_;
  memory_->NoteTime(took);
  if (repeat_.most == 0 || has_told_ || took > repeat_.most * kMillisecond) return false;
  uint64_t rest = repeat_.first * kMillisecond;
  repeat_.first = 2 * repeat_.first < repeat_.most ? 2 * repeat_.first : repeat_.most;
  // The findings are now the known digests: one of the two sets is enough meanwhile.
  memory_->Begin();
  uint64_t next = now + (rest > took ? rest : took);
  if (changed_.WaitUntil(next, &lock_, [&] { return cancelled_.load(std::memory_order_relaxed); }))
    return false;
  Begin();
  busy_--;
  return true;
}

// Hands in what a visit found and takes the next job, under one lock.
Walk::Turn Walk::HandIn(DirReader* visitor, Job* job, Node* found) {
  Record* record = visitor->record();
  Node* dead;
  Turn turn = Turn::kLeave;
  bool help = false;
  {
    Locked locked(&lock_);
    if (!record->digest.is_none()) memory_->Find(record->digest);
    // Before its subdirectories can be taken, by whichever thread: a parent's record precedes theirs.
    uint32_t id = record->is_known ? Record::kNoParent : Tell(record, *job);
    if (found != nullptr) {
      found->id = id;
      walk_queue_.Push(found);
    }
    dead = walk_queue_.Done(job);
    if (dead == nullptr) turn = GoOn(job, &help);
  }
  if (dead != nullptr) {
    // This thread is still busy: what was open is closed when the other one says that the walk is over.
    Node::Bury(dead);
    Locked locked(&lock_);
    turn = GoOn(job, &help);
  }
  // Without a thread to be had, this one does it all.
  if (help) StartOne();
  return turn;
}

// Under the lock. `help`: whether another thread is to be started.
Walk::Turn Walk::GoOn(Job* job, bool* help) {
  busy_--;
  Turn turn = NextTurn(job);
  *help = turn == Turn::kVisit && started_ < kMostThreads && walk_queue_.size() > 1;
  if (*help) started_++;
  return turn;
}

// Under the lock. Returns its id.
uint32_t Walk::Tell(Record* record, const Job& job) {
  uint32_t id = static_cast<uint32_t>(job.request);
  if (job.parent != nullptr) {
    TellOf(job.parent);
    record->parent = job.parent->id;
    id = next_id_++;
  }
  Append(record, id);
  return id;
}

// Under the lock. What lies below a directory that has not changed itself is told with those that it lies in,
// the topmost first.
void Walk::TellOf(Node* node) {
  while (node->id == Record::kNoParent) {
    Node* top = node;
    while (top->parent != nullptr && top->parent->id == Record::kNoParent) top = top->parent;
    Record stub;
    stub.MakeStub(top->name(), top->facts, top->root_device);
    stub.parent = top->parent != nullptr ? top->parent->id : Record::kNoParent;
    top->id = top->parent != nullptr ? next_id_++ : static_cast<uint32_t>(top->request);
    Append(&stub, top->id);
  }
}

// Under the lock.
void Walk::Append(Record* record, uint32_t id) {
  has_told_ = true;
  bool was_empty = output_.empty();
  uint8_t* to = output_.Append(record->bytes());
  if (to == nullptr) to = output_.Append(record->DropEntries());
  // As operator new does (runtime.cc): there is not even memory to say so.
  if (to == nullptr) abort();
  record->CopyTo(to, id);
  if (was_empty && !output_.empty()) Wake();
}

// Under the lock, which it gives up while it waits.
Walk::Turn Walk::NextTurn(Job* job) {
  for (;; waiting_++, changed_.Wait(&lock_), waiting_--) {
    if (over_) return Turn::kLeave;
    bool cancelled = cancelled_.load(std::memory_order_relaxed);
    if (!cancelled && !output_.full() && walk_queue_.Take(job)) {
      busy_++;
      if (waiting_ > 0 && walk_queue_.size() > 0) changed_.WakeOne();
      return Turn::kVisit;
    }
    if (busy_ == 0 && (cancelled || walk_queue_.size() == 0)) {
      // And stays so: the other thread is not to end it as well.
      busy_++;
      return Turn::kEnd;
    }
  }
}

void Walk::End() {
  // Not under the lock, for which the loop may wait: this may be the last reference to the inotify instance,
  // and its watches take a while.
  queue_.reset();
  Node* dead;
  {
    Locked locked(&lock_);
    dead = walk_queue_.Clear();
  }
  Node::Bury(dead);
  Locked locked(&lock_);
  over_ = true;
  output_.Flush();
  Wake();
  changed_.WakeAll();
}

void Walk::Wake() {
  if (wake_ != nullptr) uv_async_send(wake_);
  told_.WakeOne();
}

void Walk::Cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  Locked locked(&lock_);
  changed_.WakeAll();
}

Block* Walk::Take(bool* over) {
  Locked locked(&lock_);
  bool was_full = output_.full();
  Block* block = output_.Take();
  *over = over_ && output_.empty();
  if (was_full && !output_.full()) changed_.WakeAll();
  return block;
}

void Walk::GiveBack(Block* block) {
  Locked locked(&lock_);
  output_.GiveBack(block);
}

bool Walk::AwaitUntil(uint64_t moment) {
  Locked locked(&lock_);
  return told_.WaitUntil(moment, &lock_, [&] { return !output_.empty() || over_; });
}

void Walk::Abandon() {
  {
    Locked locked(&lock_);
    wake_ = nullptr;
  }
  Cancel();
  Release();
}

Walk::~Walk() {
  memory_->Release();
  threads_->Release();
  free(stat_only_);
}
