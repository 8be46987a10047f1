#pragma once

#include <napi.h>

// Makes an exception that is pending, if one is, an uncaught one: nobody above us on the stack can catch it.
void RaiseUncaught(napi_env env);

// A function of JavaScript that the loop calls.
class Callback {
 public:
  Callback(Napi::Function function, const char* resource)
      : env_(function.Env()), function_(Napi::Persistent(function)), context_(env_, resource) {}

  // An exception is an uncaught one, as from any EventEmitter's listener.
  void Call(size_t count, const napi_value* arguments);

  // It is called no more, and may be collected.
  void Reset() { function_.Reset(); }

 private:
  Napi::Env env_;
  Napi::FunctionReference function_;
  Napi::AsyncContext context_;
};
