#pragma once

#include <napi.h>

// What JavaScript asks the kernel at once, and of no object: see NativeAddon in src/addon.ts.
void DefineFunctions(Napi::Env env, Napi::Object exports);
