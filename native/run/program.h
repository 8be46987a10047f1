#pragma once

#include <sys/types.h>

#include "base/text.h"
#include "run/options.h"

// The program that is run: a child of this process.
struct Program {
  pid_t pid = -1;
  // The descriptor of its filter's questions.
  int listener = -1;
};

// Says in a sentence what is in the way before anything is started; "" if nothing is known to be.
const char* WhyNot(const Options& options);

// Has all signals come by a descriptor, which is given.
int BlockSignals();

// Starts it, or says why it cannot be served: then there is no process.
Program Start(const Options& options, Text* why);

// Becomes it, with the signals as they were; ends with 127 where it is not found, 126 where that is not
// possible.
[[noreturn]] void Execute(char** program);

// Waits for what has ended. Returns false when the program has, with its wait status.
bool Reap(const Program& program, int* status);

// Ends this process as that has ended.
[[noreturn]] void EndLike(int status);
