// Errors of the program as exceptions of the package, with the program's messages.
#pragma once

#include <utility>

#include "core/base/result.h"

namespace hybridscope {

// Throws what becomes the exception of hybridscope.errors for this kind. May be called without the
// GIL.
[[noreturn]] void raise(const Error& error);

// The value, or raise().
template <class T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}
inline void raise_if_failed(const Status& status) {
  if (!status.ok()) raise(status.error());
}

// What is thrown from here on becomes an exception of the package. Requires: the GIL.
void register_exceptions();

}  // namespace hybridscope
