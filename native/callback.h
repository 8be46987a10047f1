#pragma once

#include <napi.h>

// A function of JavaScript that the loop calls.
class Callback {
 public:
  Callback(Napi::Function function, const char* resource)
      : env_(function.Env()), function_(Napi::Persistent(function)), context_(env_, resource) {}

  // An exception is an uncaught one, as from any EventEmitter's listener. While a worker is being terminated
  // the call may fail, which is no error of anyone's.
  void Call(size_t count, const napi_value* arguments);

  // It is called no more, and may be collected.
  void Reset() { function_.Reset(); }

 private:
  Napi::Env env_;
  Napi::FunctionReference function_;
  Napi::AsyncContext context_;
};
