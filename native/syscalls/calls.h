#pragma once

#include <napi.h>

// System calls on a thread, the results of which come on the loop of its own environment. NativeCalls in
// src/addon.ts.
Napi::Function DefineCalls(Napi::Env env);
