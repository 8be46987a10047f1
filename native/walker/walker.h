#pragma once

#include <napi.h>

// Walks directories on threads, one walk at a time; the records come on the loop of its own environment.
// NativeWalker in src/addon.ts.
Napi::Function DefineWalker(Napi::Env env);
