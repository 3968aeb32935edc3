// The parts of the module hybridscope._native, one a source file, and how they bind methods.
#pragma once

#include <pybind11/pybind11.h>

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "integrations/python/src/line_thread.h"
#include "integrations/python/src/python_values.h"

namespace hybridscope {

void bind_diff(pybind11::module_& module);
void bind_hashes(pybind11::module_& module);
void bind_judge(pybind11::module_& module);
void bind_live(pybind11::module_& module);
void bind_matrix(pybind11::module_& module);
void bind_plan(pybind11::module_& module);
void bind_run(pybind11::module_& module);
void bind_sessions(pybind11::module_& module);
void bind_values(pybind11::module_& module);

// A value of the program as Python's: errors are raised, JSON becomes dicts. Requires: the GIL.
template <class T>
auto as_python(T value) {
  if constexpr (std::is_same_v<T, nlohmann::ordered_json> ||
                std::is_same_v<T, std::vector<nlohmann::ordered_json>>)
    return to_python(value);
  else
    return value;
}
template <class T>
auto as_python(Result<T> result) {
  return as_python(value_or_raise(std::move(result)));
}
inline void as_python(const Status& status) { raise_if_failed(status); }

// A method of the object behind the lock, for pybind11's def().
template <class R, class Object, class... Args>
auto method(R (Object::*function)(Args...)) {
  return [function](Locked<Object>& object, const std::decay_t<Args>&... args) {
    return as_python(object.use([&](Object& one) { return (one.*function)(args...); }));
  };
}
template <class R, class Object, class... Args>
auto method(R (Object::*function)(Args...) const) {
  return [function](Locked<Object>& object, const std::decay_t<Args>&... args) {
    return as_python(object.use([&](Object& one) { return (one.*function)(args...); }));
  };
}

}  // namespace hybridscope
