// native/run on libc, for the sanitizers: each allocation is one of malloc(3)'s, and memory without a pointer
// at the end is a leak.
#include <sanitizer/lsan_interface.h>
#include <stdlib.h>
#include <unistd.h>

#include "libc/environment.h"
#include "run/base/report.h"

char** environment;

__attribute__((constructor)) static void SetEnvironment() {
  environment = environ;
}

[[noreturn]] void ExitIndeed(int status) asm("__real__Z4Exiti");
[[noreturn]] void ExitChecked(int status) asm("__wrap__Z4Exiti");
void ExitChecked(int status) {
  ExitIndeed(__lsan_do_recoverable_leak_check() != 0 ? 99 : status);
}
