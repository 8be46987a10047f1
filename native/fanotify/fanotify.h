#pragma once

#include <napi.h>

// Waits for events of whole file systems on the loop of its own environment: fanotify(7). NativeFanotify in
// src/addon.ts.
Napi::Function DefineFanotify(Napi::Env env);
