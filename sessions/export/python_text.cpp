#include "sessions/export/python_text.h"

#include <nlohmann/json.hpp>

#include "sessions/text/shown_text.h"

namespace hybridscope {

// JSON's escapes have the same meaning in Python.
std::string python_string(std::string_view text) {
  const nlohmann::json value = std::string(text);
  return escape_controls(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string python_comment(std::string_view text) {
  const std::string valid = python_string(text);
  // Without the quotes; escapes of control characters stay as they are.
  return valid.substr(1, valid.size() - 2);
}

}  // namespace hybridscope
