// What passes between the program and Python: options of a call, JSON values, errors.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/job/step_files.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

// JSON values of the program as Python's, so that a dict says what `--json` prints.

// Objects become dicts in the order of their keys. Requires: the GIL.
pybind11::object to_python(const nlohmann::ordered_json& json);
pybind11::list to_python(const std::vector<nlohmann::ordered_json>& values);

// Errors of the program as exceptions of the package, with the program's messages.

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

// The options of a call, a dict whose keys the package's Python files choose.

class Given {
 public:
  explicit Given(pybind11::dict options) : options_(std::move(options)) {}

  // The option of this name, or `otherwise`. Throws a TypeError for another type.
  template <class T>
  T get(const char* name, T otherwise = {}) const {
    if (!options_.contains(name)) return otherwise;
    try {
      return options_[name].cast<T>();
    } catch (const pybind11::cast_error&) {
      throw pybind11::type_error(std::string(name) + " cannot be " +
                                 std::string(pybind11::repr(options_[name])));
    }
  }

  // "check"; "record" and "level". Raise InvalidInput for a name that there is not.
  CheckScope check() const;
  // "traffic_format", "users", "think_time", "request_rate", the last two as texts. Raise
  // InvalidInput for a number out of range.
  TrafficOptions traffic() const;
  StepFileOptions files() const;

 private:
  pybind11::dict options_;
};

// check_files(), whose message names arguments as Python has them: "record runs.db: this is ...".
Status check_given_files(CommandFiles files);

}  // namespace hybridscope
