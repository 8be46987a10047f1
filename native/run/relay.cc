#include "run/relay.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/retry.h"
#include "libc/environment.h"
#include "run/base/report.h"

namespace {

constexpr uint64_t kMillisecond = 1000000;
// From the end of a connection to the next; without a word, after which a relay counts as gone.
constexpr uint64_t kRetry = 1000 * kMillisecond, kSilence = 3000 * kMillisecond;

constexpr unsigned char kVersion = 1;
constexpr unsigned kMostBody = 64 * 1024;
constexpr char kNoRelay[] = "it sends what no relay sends";
enum Type : unsigned char { kHello = 1, kHint = 2, kGap = 3, kMark = 5, kAlive = 6, kRefused = 7 };

unsigned Number(const unsigned char* bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<unsigned>(bytes[3]) << 24;
}

}  // namespace

bool ReadRelayAddress(const char* text, RelayAddress* address) {
  address->text = text;
  if (BeginsWith(text, "unix:")) {
    const size_t length = strlen(text + 5);
    address->local = {};
    if (length == 0 || length >= sizeof address->local.sun_path) return false;
    address->local.sun_family = AF_UNIX;
    memcpy(address->local.sun_path, text + 5, length);
    address->size = sizeof address->local;
    return true;
  }
  if (!BeginsWith(text, "tcp:")) return false;
  text += 4;
  constexpr char kEnds[] = "...:";
  // Big-endian, as the port is.
  unsigned char bytes[6];
  for (int i = 0; i < 5; i++) {
    const size_t digits = strspn(text, "0123456789");
    const uint64_t number = NumberAt(&text);
    if (digits == 0 || digits > 5 || number > (i < 4 ? 255 : 65535) || *text != kEnds[i]) return false;
    bytes[i] = static_cast<unsigned char>(i < 4 ? number : number >> 8);
    if (i < 4) text++;
    bytes[5] = static_cast<unsigned char>(number);
  }
  address->remote = {};
  address->remote.sin_family = AF_INET;
  memcpy(&address->remote.sin_addr, bytes, 4);
  memcpy(&address->remote.sin_port, bytes + 4, 2);
  address->size = sizeof address->remote;
  return (bytes[4] | bytes[5]) != 0;
}

pollfd Relay::asked() const {
  return {socket_.get(), static_cast<short>(is_greeted_ ? POLLIN : POLLOUT), 0};
}

bool Relay::Take(short events, uint64_t now) {
  if (events == 0 && (due_ == 0 || now < due_)) return false;
  const bool was_there = is_there_;
  bool look = false;
  const char* why = !socket_.is_open() ? Connect()
                    : events == 0      ? "it has been silent for 3 s"
                    : is_greeted_      ? Read(&look)
                                       : Greet();
  due_ = now + kSilence;
  if (why != nullptr) Lose(why, now);
  return look || was_there != is_there_;
}

const char* Relay::Connect() {
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  const int64_t fd = Retry([&] { return syscall(SYS_socket, address_.any.sa_family, kType, 0); });
  socket_.reset(static_cast<int>(fd));
  if (fd < 0) return Because(fd);
  const int64_t error = Retry([&] { return syscall(SYS_connect, fd, &address_.any, address_.size); });
  // The greeting shows how it ends.
  return error == 0 || error == -EINPROGRESS ? nullptr : Because(error);
}

const char* Relay::Greet() {
  Text token, frame;
  token.Add(Variable("INOTIFY_BRIDGE_RELAY_TOKEN"));
  const size_t size = 3 + token.length();
  const char head[] = {static_cast<char>(size), static_cast<char>(size >> 8), 0, 0, kHello, kVersion, 0};
  frame.Add(head, sizeof head).Add(token.text());
  const int64_t sent = Retry([&] {
    return syscall(SYS_sendto, socket_.get(), frame.text(), frame.length(), MSG_NOSIGNAL, nullptr, 0);
  });
  is_greeted_ = true;
  got_ = 0;
  return sent < 0 ? Because(sent) : nullptr;
}

const char* Relay::Read(bool* look) {
  unsigned char bytes[8192];
  const int64_t count = Retry([&] { return read(socket_.get(), bytes, sizeof bytes); });
  if (count == 0) return "it has ended";
  if (count < 0) return count == -EAGAIN ? nullptr : Because(count);
  for (int64_t i = 0; i < count; i++) {
    if (got_ < sizeof frame_) frame_[got_] = bytes[i];
    if (++got_ < kHead) continue;
    const unsigned size = Number(frame_);
    if (size < 1 || size > 1 + kMostBody) return kNoRelay;
    if (got_ < 4 + size) continue;
    got_ = 0;
    if (const char* why = TakeFrame(size - 1, look)) return why;
  }
  return nullptr;
}

const char* Relay::TakeFrame(size_t body, bool* look) {
  switch (frame_[4]) {
    case kHello:
      if (body < 2 || frame_[5] != kVersion || frame_[6] != 0) return "it speaks another version";
      is_there_ = true;
      is_lost_ = false;
      [[fallthrough]];
    case kHint:
    case kGap:
      *look = true;
      return nullptr;
    case kMark:
    case kAlive:
      return nullptr;
    case kRefused:
      frame_[kHead + (body < kMostReason ? body : kMostReason)] = '\0';
      return reinterpret_cast<char*>(frame_ + kHead);
    default:
      return kNoRelay;
  }
}

void Relay::Lose(const char* why, uint64_t now) {
  socket_.reset();
  is_greeted_ = is_there_ = false;
  due_ = now + kRetry;
  if (is_lost_) return;
  is_lost_ = true;
  Text text;
  text.Add("relay ").Add(address_.text).Add(": ").AddEscaped(why);
  text.Add("; until there is a relay, looks at the interval tell of changes: inotify-bridge relay --listen ");
  Say(text.Add(address_.text).Add(" DIR").text(), "warning");
}

const char* Relay::Because(int64_t error) {
  why_ = Text();
  AddError(&why_, -error);
  return why_.text();
}
