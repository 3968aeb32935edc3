#include "sessions/job/state_option.h"

#include "sessions/text/byte_size.h"

namespace hybridscope {
bool StateOption::in_bytes() const {
  return fidelity == StateFidelity::bytes || (backend == StateBackendKind::cuda && !is_numeric());
}

std::vector<std::string> StateOption::words() const {
  if (is_numeric()) {
    std::vector<std::string> words = {"--state", "numeric", "--weights", weights};
    if (form == NumericForm::chunked) words.insert(words.end(), {"--form", "chunked"});
    if (backend == StateBackendKind::cuda) words.insert(words.end(), {"--backend", "cuda"});
    if (device) words.insert(words.end(), {"--device", std::to_string(*device)});
    return words;
  }
  if (!in_bytes()) return {};
  std::vector<std::string> words;
  if (backend == StateBackendKind::cuda)
    words = {"--backend", "cuda"};
  else
    words = {"--state", "bytes"};
  if (device) words.insert(words.end(), {"--device", std::to_string(*device)});
  if (memory_bytes) words.insert(words.end(), {"--state-memory", format_byte_size(*memory_bytes)});
  return words;
}

Status check_language_option(const StateOption& option) {
  if (option.backend && !option.is_numeric())
    return invalid_input("--backend is for --state numeric");
  return check_state_option(option);
}

Status check_state_option(const StateOption& option) {
  if (option.fidelity == StateFidelity::numeric && option.weights.empty())
    return invalid_input("--state numeric needs a model: --weights DIR");
  if (!option.weights.empty() && option.fidelity && option.fidelity != StateFidelity::numeric)
    return invalid_input("--weights is for --state numeric");
  if (option.form && !option.is_numeric()) return invalid_input("--form is for --state numeric");
  if (option.fidelity == StateFidelity::symbolic && option.backend == StateBackendKind::cuda)
    return invalid_input("--backend cuda keeps state in bytes, --state says symbolic");
  if (option.device && option.backend != StateBackendKind::cuda)
    return invalid_input("--device is for --backend cuda");
  if (option.memory_bytes && !option.in_bytes())
    return invalid_input("--state-memory is for --state bytes");
  return Ok{};
}

std::string state_backend_name(StateBackendKind kind) {
  return kind == StateBackendKind::cuda ? "cuda" : "cpu";
}

}  // namespace hybridscope
