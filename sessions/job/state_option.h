// Whether a run keeps state in bytes or runs a language model, and where: --state, --weights,
// --form, --backend, --device and --state-memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/language/language_values.h"

namespace hybridscope {

enum class StateFidelity : std::uint8_t { symbolic, bytes, numeric };
enum class StateBackendKind : std::uint8_t { cpu, cuda };

struct StateOption {
  std::optional<StateFidelity> fidelity;
  std::optional<StateBackendKind> backend;
  std::optional<std::int32_t> device;        // of several GPUs
  std::optional<std::int64_t> memory_bytes;  // the most that state may take
  std::string weights;                       // folder of a language model; empty: none runs
  std::optional<NumericForm> form;           // of the language model's prompt rows

  // Does a language model run on the decisions? Always with weights.
  bool is_numeric() const { return fidelity == StateFidelity::numeric || !weights.empty(); }
  // Is state kept in bytes? With backend cuda always, unless a language model runs.
  bool in_bytes() const;
  StateBackendKind backend_kind() const { return backend.value_or(StateBackendKind::cpu); }
  // What was given, as words of a command line; none for symbolic state.
  std::vector<std::string> words() const;
};

// Error: options that contradict each other.
Status check_state_option(const StateOption& option);
Status check_language_option(const StateOption& option);

// "cpu", "cuda".
std::string state_backend_name(StateBackendKind kind);

}  // namespace hybridscope
