#pragma once

#include "run/options.h"

// Runs the program to its end, and ends as that does.
int Supervise(const Options& options);
