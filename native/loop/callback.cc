#include "loop/callback.h"

// Plain N-API, for its statuses: while a worker is being terminated any of these calls may fail, which is no
// error of anyone's.

void RaiseUncaught(napi_env env) {
  bool pending = false;
  napi_value exception = nullptr;
  if (napi_is_exception_pending(env, &pending) != napi_ok || !pending) return;
  if (napi_get_and_clear_last_exception(env, &exception) == napi_ok && exception != nullptr)
    napi_fatal_exception(env, exception);
}

void Callback::Call(size_t count, const napi_value* arguments) {
  napi_value receiver, function, result;
  if (napi_get_global(env_, &receiver) != napi_ok) return;
  if (napi_get_reference_value(env_, function_, &function) != napi_ok || function == nullptr) return;
  if (napi_make_callback(env_, context_, receiver, function, count, arguments, &result) != napi_ok)
    RaiseUncaught(env_);
}
