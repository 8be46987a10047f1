#pragma once

#include <napi.h>

// Plain N-API, for its statuses: while a worker is being terminated any of these calls may fail, which is no
// error of anyone's.

// Makes an exception that is pending, if one is, an uncaught one: nobody above us on the stack can catch it.
inline void RaiseUncaught(napi_env env) {
  bool pending = false;
  napi_value exception = nullptr;
  if (napi_is_exception_pending(env, &pending) != napi_ok || !pending) return;
  if (napi_get_and_clear_last_exception(env, &exception) == napi_ok && exception != nullptr)
    napi_fatal_exception(env, exception);
}

// A function of JavaScript that the loop calls.
class Callback {
 public:
  Callback(Napi::Function function, const char* resource)
      : env_(function.Env()), function_(Napi::Persistent(function)), context_(env_, resource) {}

  // An exception is an uncaught one, as from any EventEmitter's listener.
  void Call(size_t count, const napi_value* arguments) {
    napi_value receiver, function, result;
    if (napi_get_global(env_, &receiver) != napi_ok) return;
    if (napi_get_reference_value(env_, function_, &function) != napi_ok || function == nullptr) return;
    if (napi_make_callback(env_, context_, receiver, function, count, arguments, &result) != napi_ok)
      RaiseUncaught(env_);
  }

  // It is called no more, and may be collected.
  void Reset() { function_.Reset(); }

 private:
  Napi::Env env_;
  Napi::FunctionReference function_;
  Napi::AsyncContext context_;
};
