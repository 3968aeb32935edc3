#include "cli/state_option.h"

#include <CLI/CLI.hpp>

#include "sessions/text/byte_size.h"

namespace hybridscope {
namespace {

constexpr const char* kGroup = "State in bytes";

const CLI::Validator kByteSize(
    [](std::string& text) {
      const auto size = parse_byte_size(text);
      if (!size.ok()) return size.error().message;
      return size.value() > 0 ? std::string() : std::string("no memory at all");
    },
    "", "byte size");

}  // namespace

bool StateOption::in_bytes() const {
  return fidelity == StateFidelity::bytes || backend == StateBackendKind::cuda;
}

std::vector<std::string> StateOption::words() const {
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
  command
      .add_option_function<std::string>(
          "--state",
          [&option](const std::string& name) {
            option.fidelity = name == "bytes" ? StateFidelity::bytes : StateFidelity::symbolic;
          },
          "symbolic: a fingerprint of what each block holds (default); bytes: also every element "
          "of every layer in memory, compared with the fingerprints after each step")
      ->check(CLI::IsMember({"symbolic", "bytes"}))
      ->type_name("symbolic|bytes")
      ->group(kGroup);
  command
      .add_option_function<std::string>(
          "--backend",
          [&option](const std::string& name) {
            option.backend = name == "cuda" ? StateBackendKind::cuda : StateBackendKind::cpu;
          },
          "where the bytes are kept: cpu (default) or cuda, which implies --state bytes")
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

Status check_state_option(const StateOption& option) {
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
