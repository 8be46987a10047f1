#pragma once

#include <cstdint>

#include "syscalls/call.h"

// What a call has found out goes into its data; each gives the call's result, >= 0 or -errno.

// What has been opened is to be looked at next, most often: its stat, in one turn to JavaScript and back.
// Closes the descriptor, `fd`, if there is none to be had.
int64_t WithStat(Call* call, int64_t fd);

// So is what has been opened to be read: its first bytes, and a stat from behind them, come behind the stat.
int64_t WithContent(Call* call, int64_t fd);

// What a symlink says comes behind its stat.
int64_t StatOrLinkInto(Call* call, int directory, const char* name);

int64_t ReadlinkInto(Call* call);

// The names, each with its zero, and how many there are: at most so many.
int64_t NamesInto(Call* call);

int64_t ReadInto(Call* call);
