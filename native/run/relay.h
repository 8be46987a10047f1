#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"
#include "base/unique_fd.h"

// The address at which a relay listens.
struct RelayAddress {
  // As it was given; nullptr: there is none.
  const char* text = nullptr;
  union {
    sockaddr any = {};
    sockaddr_un local;
    sockaddr_in remote;
  };
  unsigned size = 0;
};

// Reads unix:PATH, or tcp:HOST:PORT with an IPv4 address. False if it is neither.
bool ReadRelayAddress(const char* text, RelayAddress* address);

// A relay on the machine that changes what is watched: `inotify-bridge relay`, whose frames
// src/relay/frames.ts describes. A hint says that something has changed; here it is a reason to look, and no
// more.
class Relay {
 public:
  explicit Relay(const RelayAddress& address) : address_(address), due_(address.text != nullptr) {}

  // The descriptor and the events that ppoll(2) is to wait for.
  pollfd asked() const;
  // ns of CLOCK_MONOTONIC at which Take() has something to do in any case; 0: never.
  uint64_t due() const { return due_; }
  // Takes in what ppoll(2) has found: sends, reads, and connects anew. True: look now.
  bool Take(short events, uint64_t now);
  // True: the relay tells of all that changes from the last look on, which Take() has asked for.
  bool is_there() const { return is_there_; }

 private:
  static constexpr size_t kHead = 5, kMostReason = 200;

  // Each gives the reason why there is no relay; nullptr: all is well.
  const char* Connect();
  const char* Greet();
  const char* Read(bool* look);
  const char* TakeFrame(size_t body, bool* look);
  void Lose(const char* why, uint64_t now);
  const char* Because(int64_t error);

  const RelayAddress& address_;
  UniqueFd socket_;
  uint64_t due_;
  bool is_greeted_ = false, is_there_ = false;
  // True: it has been said that there is no relay.
  bool is_lost_ = false;
  // The bytes of a frame that have come, and those at its beginning.
  size_t got_ = 0;
  unsigned char frame_[kHead + kMostReason + 1] = {};
  Text why_;
};
