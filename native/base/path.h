#pragma once

#include <errno.h>
#include <limits.h>
#include <napi.h>

#include <cstring>

// A path given as a string (UTF-8) or as a Buffer of the exact bytes.
class Path {
 public:
  explicit Path(const Napi::Value& value) {
    size_t length = 0;
    if (value.IsBuffer()) {
      auto bytes = value.As<Napi::Buffer<char>>();
      length = bytes.Length();
      if (length < sizeof path_) memcpy(path_, bytes.Data(), length);
    } else {
      napi_get_value_string_utf8(value.Env(), value, path_, sizeof path_, &length);
      // N-API cuts what does not fit, at a whole character: up to 3 bytes short of the end is taken for cut.
      if (length >= sizeof path_ - 4) length = sizeof path_;
    }
    if (length >= sizeof path_) {
      error_ = -ENAMETOOLONG;
      length = 0;
    }
    path_[length] = '\0';
  }

  // 0, or -ENAMETOOLONG: the kernel's own answer to a path that does not fit PATH_MAX.
  int error() const { return error_; }
  const char* c_str() const { return path_; }

 private:
  int error_ = 0;
  char path_[PATH_MAX + 4];
};
