// The options of a call, a dict whose keys the package's Python files choose.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>

#include "core/check/step_checker.h"
#include "sessions/job/output_targets.h"
#include "sessions/job/step_files.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

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
  RecordOption record() const;

 private:
  pybind11::dict options_;
};

// check_files(), whose message names arguments as Python has them: "record runs.db: this is ...".
Status check_given_files(CommandFiles files);

}  // namespace hybridscope
