// Any bytes are refused as requests, or are requests in which every text is one.
#include "scan/requests.h"

#include <errno.h>

#include <vector>

#include "input.h"

namespace {

// Returns the bytes of the names, each with its NUL.
size_t CheckNames(const char* names, size_t count) {
  const char* name = names;
  for (size_t i = 0; i < count; i++) {
    size_t length = strlen(name);
    Check(length > 0 && strchr(name, '/') == nullptr, "a name is one");
    Check(strcmp(name, ".") != 0 && strcmp(name, "..") != 0, "and leads nowhere else");
    name += length + 1;
  }
  return static_cast<size_t>(name - names);
}

void CheckOrder(const Requests& requests) {
  std::vector<bool> seen(requests.count());
  for (size_t i = 0; i < requests.count(); i++) {
    size_t index = requests.ByPath(i);
    Check(index < requests.count() && !seen[index], "each is once in the order");
    seen[index] = true;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Exact exact(data, size);
  Requests requests;
  int error = requests.Parse(exact.bytes(), size);
  Check(error == 0 || error == -EINVAL, "there is an answer");
  if (error != 0) return 0;
  for (size_t i = 0; i < requests.count(); i++) {
    const Request& request = requests[i];
    Check(request.root[0] == '/', "a root is absolute");
    size_t way = CheckNames(request.way, request.way_names);
    Check(request.path_bytes == strlen(request.root) + way, "how long the path is");
    CheckNames(request.names, request.name_count);
    Check(request.since == request.since, "a moment is a number");
  }
  CheckOrder(requests);
  return 0;
}
