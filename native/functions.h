#pragma once

#include <napi.h>

// Adds the questions that JavaScript asks the kernel without an object: see NativeAddon in src/addon.ts.
void DefineFunctions(Napi::Env env, Napi::Object exports);
