#pragma once

#include "run/base/text.h"

// Writes 'inotify-bridge run: TEXT' to stderr.
void Say(const char* text);
// The same, and ends: 1.
[[noreturn]] void Die(const char* text);
[[noreturn]] void Exit(int status);
// The name that errno(3) has for one of the usual numbers, else the number.
void AddError(Text* to, long error);
