#include "integrations/python/src/to_python.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace hybridscope {

namespace py = pybind11;

py::object to_python(const nlohmann::ordered_json& json) {
  switch (json.type()) {
    case nlohmann::ordered_json::value_t::object: {
      py::dict dict;
      for (const auto& [key, value] : json.items()) dict[py::str(key)] = to_python(value);
      return dict;
    }
    case nlohmann::ordered_json::value_t::array: {
      py::list list(json.size());
      for (std::size_t i = 0; i < json.size(); ++i) list[i] = to_python(json[i]);
      return list;
    }
    case nlohmann::ordered_json::value_t::string:
      return py::str(json.get_ref<const std::string&>());
    case nlohmann::ordered_json::value_t::boolean:
      return py::bool_(json.get<bool>());
    case nlohmann::ordered_json::value_t::number_integer:
      return py::int_(json.get<std::int64_t>());
    case nlohmann::ordered_json::value_t::number_unsigned:
      return py::int_(json.get<std::uint64_t>());
    case nlohmann::ordered_json::value_t::number_float:
      return py::float_(json.get<double>());
    default:
      return py::none();
  }
}

py::list to_python(const std::vector<nlohmann::ordered_json>& values) {
  py::list list(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) list[i] = to_python(values[i]);
  return list;
}

}  // namespace hybridscope
