// Reads values as Python prints them (repr): what vLLM logs of its arguments and its configuration.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

struct PythonValue {
  nlohmann::ordered_json value = {};
  // Members that have no value that can be read ("<object at 0x7f..>"), as "outer.inner".
  std::vector<std::string> not_read = {};
  bool is_cut = false;  // the text ends before the value does; what was read until then is there
};

// A value at the beginning of `text`: True, None, numbers, strings, lists, tuples, sets, dicts.
// "<CUDAGraphMode.NONE: 0>" is "NONE", "torch.bfloat16" is "bfloat16", a call Name(a=1) is an
// object with its arguments, Name('x') is 'x'.
PythonValue read_python_value(std::string_view text);

// "model='x', dtype=torch.bfloat16, ..." as an object, up to where it is no such list any more.
PythonValue read_python_arguments(std::string_view text);

}  // namespace hybridscope
