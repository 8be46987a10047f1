#include "record/record.h"

#include <endian.h>
#include <errno.h>

#include <cstring>

#include "base/ascii.h"

namespace {

constexpr size_t kHeadBytes = 80;
constexpr size_t kAlignment = 8;

constexpr size_t kEntryHeadBytes = 2;
constexpr size_t kMaxInoBytes = 7;
constexpr size_t kStatBytes = 56;
constexpr size_t kMaxEntryBytes =
    kEntryHeadBytes + kMaxInoBytes + kStatBytes + sizeof(Digest) + kMaxNameBytes;

// The first byte of an entry: its kind, these flags, and how many bytes its inode number has.
enum EntryFlags : uint8_t { kNameIsAscii = 4, kHasStat = 8, kHasContent = 16 };
constexpr unsigned kInoBytesShift = 5;

uint8_t* Put32(uint8_t* to, size_t number) {
  uint32_t little = htole32(static_cast<uint32_t>(number));
  memcpy(to, &little, sizeof little);
  return to + sizeof little;
}

// Little-endian.
uint8_t* PutDouble(uint8_t* to, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = htole64(bits);
  memcpy(to, &bits, sizeof bits);
  return to + sizeof bits;
}

uint8_t* PutStat(uint8_t* to, const Statx& stat) {
  to = Put32(to, stat.mode);
  to = Put32(to, stat.uid);
  to = Put32(to, stat.gid);
  to = Put32(to, stat.nlink);
  to = PutDouble(to, static_cast<double>(stat.size));
  to = PutDouble(to, static_cast<double>(Fold(stat.mtime)));
  to = PutDouble(to, static_cast<double>(Fold(stat.ctime)));
  to = PutDouble(to, Milliseconds(stat.ctime));
  return PutDouble(to, Milliseconds(stat.btime));
}

uint8_t* PutBytes(uint8_t* to, const void* from, size_t bytes) {
  if (bytes > 0) memcpy(to, from, bytes);
  return to + bytes;
}

// Copies up to the NUL and returns the length.
size_t CopyName(uint8_t* to, const char* name, bool* ascii) {
  size_t length = strnlen(name, kMaxNameBytes);
  memcpy(to, name, length);
  *ascii = IsAscii(to, length);
  return length;
}

}  // namespace

void Record::Begin(const char* name) {
  parent = kNoParent;
  wd = 0;
  error = 0;
  facts = Statx();
  place = digest = Digest();
  is_known = false;
  files_.Clear();
  subdirectories_.Clear();
  bool ascii;
  name_bytes_ = CopyName(reinterpret_cast<uint8_t*>(name_), name, &ascii);
  name_[name_bytes_] = '\0';
  flags = ascii ? uint32_t{kAscii} : 0;
}

void Record::Add(Kind kind, uint64_t ino, const char* name, const Statx* stat, const Digest* content) {
  Entries* entries = kind == Kind::kDirectory ? &subdirectories_ : &files_;
  uint8_t* entry = entries->blob.Room(kMaxEntryBytes);
  if (entry == nullptr) return;
  // FUSE servers may give names of up to 1,024 bytes, or more (fs/fuse/fuse_i.h, FUSE_NAME_MAX). Cut, two of
  // them could be one.
  if (strlen(name) > kMaxNameBytes) {
    error = -EOVERFLOW;
    return;
  }
  uint64_t number = Fold(ino);
  size_t ino_bytes = number == 0 ? 0 : sizeof number - static_cast<size_t>(__builtin_clzll(number)) / 8;
  number = htole64(number);
  uint8_t* to = entry + kEntryHeadBytes;
  memcpy(to, &number, sizeof number);
  to += ino_bytes;
  if (stat != nullptr) to = PutStat(to, *stat);
  if (content != nullptr) to = PutBytes(to, content, sizeof *content);
  bool ascii;
  size_t name_bytes = CopyName(to, name, &ascii);
  entry[0] = static_cast<uint8_t>(static_cast<unsigned>(kind) | (ascii ? kNameIsAscii : 0) |
                                  (stat != nullptr ? kHasStat : 0) | (content != nullptr ? kHasContent : 0) |
                                  static_cast<unsigned>(ino_bytes) << kInoBytesShift);
  entry[1] = static_cast<uint8_t>(name_bytes);
  entries->blob.Add(static_cast<size_t>(to + name_bytes - entry));
  entries->count++;
}

void Record::Finish() {
  size_t bytes = kHeadBytes + name_bytes_ + files_.blob.size() + subdirectories_.blob.size();
  size_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  // The head says it in 32 bits. No directory is so large (10 million names: 400 MB).
  if (files_.blob.failed() || subdirectories_.blob.failed() || size_ > UINT32_MAX) DropEntries();
}

// Another directory with the same name is another place, and so is all that lies in it: what is believed of a
// place is believed of one directory.
void Record::Sum(const Digest& above) {
  Hasher where;
  where.Add(above);
  where.Add(facts.ino);
  where.Add(facts.mount);
  where.Add(facts.device);
  where.Add(name_, name_bytes_);
  place = where.Finish();
  if (!IsReliable()) return;
  Hasher all;
  all.Add(place);
  all.Add(uint64_t{flags} << 32 | static_cast<uint32_t>(error));
  all.Add(uint64_t{facts.mode} << 32 | facts.uid);
  all.Add(uint64_t{facts.gid} << 32 | static_cast<uint32_t>(wd));
  all.Add(files_.blob.size());
  all.Add(files_.blob.data(), files_.blob.size());
  all.Add(subdirectories_.blob.data(), subdirectories_.blob.size());
  digest = all.Finish();
}

// A directory that may not be read stays so until its mode changes, and one whose path is too long while it
// is in its place. Any other error may be gone the next time.
bool Record::IsReliable() const {
  if ((flags & kVanished) != 0) return false;
  bool is_lasting = error == -EACCES || error == -ENAMETOOLONG;
  return error == 0 || (is_lasting && files_.count + subdirectories_.count == 0);
}

void Record::MakeStub(const char* name, const Statx& of, uint64_t root) {
  Begin(name);
  facts = of;
  flags |= kUnchanged | (facts.device != root ? uint32_t{kOtherDevice} : 0);
  Finish();
}

size_t Record::DropEntries() {
  error = -ENOMEM;
  files_.Clear();
  subdirectories_.Clear();
  Finish();
  return size_;
}

void Record::CopyTo(uint8_t* to, uint32_t id) const {
  uint8_t* end = to + size_;
  to = Put32(to, size_);
  to = Put32(to, id);
  to = Put32(to, parent);
  to = Put32(to, static_cast<uint32_t>(wd));
  to = Put32(to, static_cast<uint32_t>(error));
  to = Put32(to, flags);
  to = PutDouble(to, Fold(facts.ino));
  to = PutDouble(to, facts.mount);
  to = Put32(to, facts.device >> 32);
  to = Put32(to, facts.device);
  to = Put32(to, facts.mode);
  to = Put32(to, facts.uid);
  to = Put32(to, facts.gid);
  to = Put32(to, name_bytes_);
  to = Put32(to, files_.count);
  to = Put32(to, files_.blob.size());
  to = Put32(to, subdirectories_.count);
  to = Put32(to, subdirectories_.blob.size());
  to = PutBytes(to, name_, name_bytes_);
  to = PutBytes(to, files_.blob.data(), files_.blob.size());
  to = PutBytes(to, subdirectories_.blob.data(), subdirectories_.blob.size());
  memset(to, 0, static_cast<size_t>(end - to));
}

PackedEntry::PackedEntry(const uint8_t* at) {
  const uint8_t* bytes = at + kEntryHeadBytes + (at[0] >> kInoBytesShift) +
                         ((at[0] & kHasStat) != 0 ? kStatBytes : 0) +
                         ((at[0] & kHasContent) != 0 ? sizeof(Digest) : 0);
  name = reinterpret_cast<const char*>(bytes);
  name_bytes = at[1];
  next = bytes + name_bytes;
}
