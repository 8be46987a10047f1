#include "run/base/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int report = -1;
uint64_t dropped = 0;

bool Write(const Text& line) {
  return line.length() <= PIPE_BUF && syscall(SYS_write, report, line.text(), line.length()) >= 0;
}

}  // namespace

bool ReportTo(int fd) {
  const long flags = syscall(SYS_fcntl, fd, F_GETFL);
  if (flags < 0) return false;
  syscall(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK);
  syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
  report = fd;
  return true;
}

bool IsReported() {
  return report >= 0;
}

void CloseReport() {
  if (IsReported()) close(report);
  report = -1;
}

void WriteReport(const Text& line) {
  Text gap;
  gap.Add("{\"event\":\"dropped\",\"lines\":").Add(dropped).Add("}\n");
  if (dropped > 0 && Write(gap)) dropped = 0;
  if (dropped > 0 || !Write(line)) dropped++;
}

void Say(const char* text, const char* event) {
  Text line;
  if (IsReported()) {
    line.Add("{\"event\":\"").Add(event).Add("\",\"message\":\"").AddEscaped(text).Add("\"}\n");
    return WriteReport(line);
  }
  line.Add("inotify-bridge run: ").Add(text).Add("\n");
  // A reader may have gone: that is no reason to end.
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
    char name[16];
  };
  constexpr Known kKnown[] = {{EPERM, "EPERM"},
                              {ENOENT, "ENOENT"},
                              {EACCES, "EACCES"},
                              {EINVAL, "EINVAL"},
                              {ENOSYS, "ENOSYS"},
                              {ENOTDIR, "ENOTDIR"},
                              {ECONNREFUSED, "ECONNREFUSED"},
                              {ECONNRESET, "ECONNRESET"}};
  for (const Known& each : kKnown)
    if (each.number == error) return static_cast<void>(to->Add(each.name));
  to->Add("errno ").Add(error);
}
