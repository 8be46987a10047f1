#pragma once

// The command line, read.
struct Options {
  unsigned interval = 250;
  bool all = false;
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
