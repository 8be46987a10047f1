#pragma once

#include <napi.h>

// The classes that only addon.cc defines. Each answers on the loop of its own environment; the interface that
// src/addon.ts has for it is named behind.

// System calls on a thread: NativeCalls.
Napi::Function DefineCalls(Napi::Env env);

// Events of whole file systems, fanotify(7): NativeFanotify.
Napi::Function DefineFanotify(Napi::Env env);

// Changes of the mount table, proc_pid_mounts(5): NativeMountTable.
Napi::Function DefineMountTable(Napi::Env env);

// Directories walked on threads, one walk at a time: NativeWalker.
Napi::Function DefineWalker(Napi::Env env);
