// JSON values of the program as Python's, so that a dict says what `--json` prints.
#pragma once

#include <pybind11/pybind11.h>

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace hybridscope {

// Objects become dicts in the order of their keys. Requires: the GIL.
pybind11::object to_python(const nlohmann::ordered_json& json);
pybind11::list to_python(const std::vector<nlohmann::ordered_json>& values);

}  // namespace hybridscope
