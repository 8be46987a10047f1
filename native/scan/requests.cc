#include "scan/requests.h"

#include <endian.h>
#include <errno.h>

#include <cmath>
#include <cstring>

namespace {

constexpr size_t kHeadBytes = 4 * sizeof(uint32_t);

// Reads what it is asked for, or has failed.
class Reader {
 public:
  Reader(const uint8_t* next, size_t left) : next_(next), left_(left) {}

  bool at_end() const { return left_ == 0; }
  bool failed() const { return failed_; }

  uint32_t Number() {
    uint32_t little = 0;
    if (const uint8_t* from = Take(sizeof little)) memcpy(&little, from, sizeof little);
    return le32toh(little);
  }

  uint64_t LongNumber() {
    uint64_t low = Number();
    return low | uint64_t{Number()} << 32;
  }

  const uint8_t* Take(size_t bytes) {
    failed_ = failed_ || bytes > left_;
    if (failed_) return nullptr;
    const uint8_t* taken = next_;
    next_ += bytes;
    left_ -= bytes;
    return taken;
  }

 private:
  const uint8_t* next_;
  size_t left_;
  bool failed_ = false;
};

bool IsName(const char* text, size_t bytes) {
  if (bytes == 0 || memchr(text, '\0', bytes) != nullptr || memchr(text, '/', bytes) != nullptr) return false;
  return text[0] != '.' || (bytes > 1 && (text[1] != '.' || bytes > 2));
}

// Copies with a NUL behind. The room is always there: no string is longer than what was packed.
char* Copy(const void* from, size_t bytes, char* to) {
  memcpy(to, from, bytes);
  to[bytes] = '\0';
  return to + bytes + 1;
}

// Reads the time of kSince. Excludes kCompare and kLook, whose entries are told whole, and kHash: a file's
// digest is part of its stat block.
bool ReadSince(Reader* reader, Request* request) {
  if (!request->has(Request::kSince)) return true;
  uint64_t bits = reader->LongNumber();
  memcpy(&request->since, &bits, sizeof bits);
  return request->has(Request::kStat) && !request->has(Request::kCompare | Request::kHash | Request::kLook) &&
         !std::isnan(request->since);
}

bool ReadRoot(Reader* reader, size_t bytes, char** text, Request* request) {
  const void* root = reader->Take(bytes);
  if (root == nullptr || bytes == 0 || *static_cast<const char*>(root) != '/') return false;
  if (memchr(root, '\0', bytes) != nullptr) return false;
  request->root = *text;
  *text = Copy(root, bytes, *text);
  return true;
}

// Names with a slash between each two.
bool ReadNames(Reader* reader, size_t bytes, char** text, const char** names, size_t* count) {
  const auto* next = reinterpret_cast<const char*>(reader->Take(bytes));
  if (next == nullptr) return false;
  *names = *text;
  *count = 0;
  for (const char* end = next + bytes; next < end; ++*count) {
    const auto* slash = static_cast<const char*>(memchr(next, '/', static_cast<size_t>(end - next)));
    size_t length = static_cast<size_t>((slash != nullptr ? slash : end) - next);
    if (!IsName(next, length) || slash == end - 1) return false;
    *text = Copy(next, length, *text);
    next += length + 1;
  }
  return true;
}

// Root and names with a NUL behind each: what begins like another and goes on lies below it.
int ComparePaths(const void* one, const void* other) {
  const Request& a = **static_cast<const Request* const*>(one);
  const Request& b = **static_cast<const Request* const*>(other);
  int order = memcmp(a.root, b.root, a.path_bytes < b.path_bytes ? a.path_bytes : b.path_bytes);
  if (order != 0) return order;
  if (a.path_bytes != b.path_bytes) return a.path_bytes < b.path_bytes ? -1 : 1;
  return a.root < b.root ? -1 : a.root > b.root;
}

}  // namespace

int Requests::Parse(const uint8_t* packed, size_t bytes) {
  // Each length gives way to NULs, of which there are fewer bytes.
  char* text = reinterpret_cast<char*>(text_.Room(bytes));
  // At the most: as many as there are heads.
  requests_ = static_cast<Request*>(calloc(bytes / kHeadBytes + 1, sizeof(Request)));
  if (requests_ == nullptr || text_.failed()) return -ENOMEM;
  for (Reader reader(packed, bytes); !reader.at_end(); count_++) {
    Request* request = &requests_[count_];
    request->flags = reader.Number();
    size_t root_bytes = reader.Number();
    size_t way_bytes = reader.Number();
    size_t names_bytes = reader.Number();
    if (request->has(Request::kInParent)) request->parent_ino = reader.LongNumber();
    if (!ReadSince(&reader, request) || !ReadRoot(&reader, root_bytes, &text, request) ||
        !ReadNames(&reader, way_bytes, &text, &request->way, &request->way_names) ||
        !ReadNames(&reader, names_bytes, &text, &request->names, &request->name_count))
      return -EINVAL;
    request->path_bytes = root_bytes + (way_bytes == 0 ? 0 : 1 + way_bytes);
  }
  sorted_ = static_cast<const Request**>(calloc(count_ + 1, sizeof(Request*)));
  if (sorted_ == nullptr) return -ENOMEM;
  for (size_t i = 0; i < count_; i++) sorted_[i] = &requests_[i];
  qsort(sorted_, count_, sizeof(Request*), ComparePaths);
  return 0;
}
