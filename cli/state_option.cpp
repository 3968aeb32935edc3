#include "cli/state_option.h"

#include <CLI/CLI.hpp>

#include "sessions/run/speech_info.h"
#include "sessions/text/byte_size.h"

namespace hybridscope {
namespace {

constexpr const char* kGroup = "State";
constexpr const char* kNumericWords =
    "numeric: a language model runs on the decisions, its states and text compared with a lone run "
    "of each request";

const CLI::Validator kByteSize(
    [](std::string& text) {
      const auto size = parse_byte_size(text);
      if (!size.ok()) return size.error().message;
      return size.value() > 0 ? std::string() : std::string("no memory at all");
    },
    "", "byte size");

void add_fidelity(CLI::App& command, StateOption& option, const std::string& words,
                  const std::vector<std::string>& names, const std::string& type) {
  command
      .add_option_function<std::string>(
          "--state",
          [&option](const std::string& name) {
            option.fidelity = name == "numeric" ? StateFidelity::numeric
                              : name == "bytes" ? StateFidelity::bytes
                                                : StateFidelity::symbolic;
          },
          words)
      ->check(CLI::IsMember(names))
      ->type_name(type)
      ->group(kGroup);
}

void add_model(CLI::App& command, StateOption& option) {
  command
      .add_option("--weights", option.weights,
                  "folder of the language model for --state numeric, which it implies: config.json "
                  "and model.safetensors of Bamba, Qwen3.5, Qwen3-Next without experts or LFM2")
      ->check([](const std::string& folder) {
        return folder.empty() ? std::string("expected a folder, found \"\"") : std::string();
      })
      ->type_name("DIR")
      ->group(kGroup);
  command
      .add_option_function<std::string>(
          "--form", [&option](const std::string& name) { option.form = parse_numeric_form(name); },
          "how the language model computes prompt rows: recurrent, token after token (default; "
          "states are compared bit for bit), or chunked, by the builders' chunks (logits are "
          "compared within a tolerance)")
      ->check(CLI::IsMember({"recurrent", "chunked"}))
      ->type_name("recurrent|chunked")
      ->group(kGroup);
}

void add_place(CLI::App& command, StateOption& option, const std::string& words) {
  command
      .add_option_function<std::string>(
          "--backend",
          [&option](const std::string& name) {
            option.backend = name == "cuda" ? StateBackendKind::cuda : StateBackendKind::cpu;
          },
          words)
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("cpu|cuda")
      ->group(kGroup);
  command
      .add_option_function<std::int32_t>(
          "--device", [&option](std::int32_t device) { option.device = device; },
          "which GPU of --backend cuda (default: 0)")
      ->check(CLI::Range(0, 1023, "0 to 1023"))
      ->type_name("N")
      ->group(kGroup);
}

}  // namespace

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

void add_state_options(CLI::App& command, StateOption& option) {
  add_fidelity(command, option,
               std::string("symbolic: a fingerprint of what each block holds (default); bytes: "
                           "also every element of every layer in memory, compared with the "
                           "fingerprints after each step; ") +
                   kNumericWords,
               {"symbolic", "bytes", "numeric"}, "symbolic|bytes|numeric");
  add_model(command, option);
  add_place(command, option,
            "where the bytes are kept, or the language model runs: cpu (default) or cuda, which "
            "implies --state bytes without --weights");
  command
      .add_option_function<std::string>(
          "--state-memory",
          [&option](const std::string& text) {
            option.memory_bytes = parse_byte_size(text).value();
          },
          "the most that the bytes may take (default: half of the free memory, of a GPU 15/16)")
      ->check(kByteSize)
      ->type_name("SIZE")
      ->group(kGroup);
}

void add_language_options(CLI::App& command, StateOption& option) {
  add_fidelity(command, option, kNumericWords, {"symbolic", "numeric"}, "symbolic|numeric");
  add_model(command, option);
  add_place(command, option, "where the language model runs: cpu (default) or cuda");
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
