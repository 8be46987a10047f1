#pragma once

#include <cstdint>

#include "syscalls/call.h"

// The functions put the findings of a call into its data. Each returns the call's result, >= 0 or -errno.

// Appends the stat of an opened file, which most callers look at next: one turn to JavaScript and back for
// both. Closes the descriptor, `fd`, if there is no stat to be had.
int64_t WithStat(Call* call, int64_t fd);

// Likewise the first bytes of a file opened to be read, and a stat from after the read, behind the stat.
int64_t WithContent(Call* call, int64_t fd);

// Appends an entry's stat, and behind it the text of a symlink.
int64_t StatOrLinkInto(Call* call, int directory, const char* name);

int64_t ReadlinkInto(Call* call);

// Appends the names, each with its zero, and their number: at most so many.
int64_t NamesInto(Call* call);

int64_t ReadInto(Call* call);
