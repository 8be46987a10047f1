// Requests of random bytes are refused, or read to their end.
#include "syscalls/stat_watch.h"

#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Exact exact(data, size);
  bool is_well_formed = StatWatch(exact.bytes(), size).IsWellFormed();
  Check(!is_well_formed || (size > 0 && size % 8 == 0), "what is well formed is whole");
  return 0;
}
