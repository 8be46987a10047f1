#pragma once

#include "run/base/text.h"

// From now on all that is said goes to this descriptor, as JSON, an object a line; PROGRAM does not get it.
// False: there is no such descriptor.
bool ReportTo(int fd);
bool IsReported();
void CloseReport();
// A line for it. Nobody waits for its reader: what does not fit is dropped, which the next line says, and so
// is what is longer than PIPE_BUF and could be torn.
void WriteReport(const Text& line);
// Writes 'inotify-bridge run: TEXT' to stderr, or reports {"event":EVENT,"message":TEXT}.
void Say(const char* text, const char* event = "error");
// The same, and ends: 1.
[[noreturn]] void Die(const char* text);
[[noreturn]] void Exit(int status);
// The name that errno(3) has for one of the usual numbers, else the number.
void AddError(Text* to, long error);
