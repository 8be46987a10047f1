#pragma once

#include "run/relay.h"

// Changes are told by looks at silent mounts alone, by nobody but the kernel, or by looks at all mounts.
enum class Backend { kAuto, kInotify, kPoll };

// The command line and the environment, read.
struct Options {
  unsigned interval = 250;
  Backend backend = Backend::kAuto;
  RelayAddress relay;
  bool attempt = false;
  bool verbose = false;
  bool json = false;
  bool goes_on = false;
  // Ends with its parent: for whoever has started it in place of itself.
  bool as_child = false;
  // PROGRAM and its arguments.
  char** program = nullptr;
};

// Ends with 2 where it is wrong, with 0 behind --help.
Options ReadOptions(int argc, char** argv);
