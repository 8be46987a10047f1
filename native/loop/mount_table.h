#pragma once

#include <napi.h>

// Waits for changes of the mount table on the loop of its own environment: proc_pid_mounts(5).
// NativeMountTable in src/addon.ts.
Napi::Function DefineMountTable(Napi::Env env);
