#include "run/base/report.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

void Say(const char* text) {
  Text line;
  line.Add("inotify-bridge run: ").Add(text).Add("\n");
  // Nobody may read it: that is no reason to end.
  syscall(SYS_write, STDERR_FILENO, line.text(), line.length());
}

void Exit(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

void Die(const char* text) {
  Say(text);
  Exit(1);
}

void AddError(Text* to, long error) {
  // No pointers: nobody would relocate them.
  struct Known {
    int number;
    char name[8];
  };
  constexpr Known kKnown[] = {{EPERM, "EPERM"},     {ENOENT, "ENOENT"}, {EACCES, "EACCES"},
                              {EINVAL, "EINVAL"},   {ENOSYS, "ENOSYS"}, {ENOEXEC, "ENOEXEC"},
                              {ENOTDIR, "ENOTDIR"}, {EMFILE, "EMFILE"}};
  for (const Known& each : kKnown)
    if (each.number == error) return static_cast<void>(to->Add(each.name));
  to->Add("errno ").Add(static_cast<uint64_t>(error));
}
