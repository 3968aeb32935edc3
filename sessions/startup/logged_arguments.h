// The arguments of a server that its log tells, as a line of `vllm serve`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/startup/log_text.h"

namespace hybridscope {

struct LoggedArguments {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();  // by vLLM's names, "model" too
  nlohmann::ordered_json resolved = nlohmann::ordered_json::object();  // of the engine, all of them
  bool is_complete = false;  // `values` are those that were given, not some of the engine's
  std::vector<std::string> notes = {};
};

// The arguments of "non-default args"; where the log has none, those of the engine's configuration.
LoggedArguments read_logged_arguments(const LogText& log);

// "vllm serve MODEL --max-model-len 4096"; empty without a model.
std::string serve_line_of(const nlohmann::ordered_json& values);

}  // namespace hybridscope
