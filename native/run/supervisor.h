#pragma once

#include "run/options.h"

// Runs the program to its end, and ends as that does.
[[noreturn]] void Supervise(const Options& options);
