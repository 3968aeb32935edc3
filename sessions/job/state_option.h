// Whether a run keeps state in bytes or runs a language model, and where: --state, --weights,
// --form, --backend, --device and --state-memory.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/language/language_values.h"
#include "core/state/state_backend.h"
#include "sessions/job/backends.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/step_judge.h"

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

// The memory that a run keeps its state in, and what a report says about it.

struct StateInBytes {
  std::string backend;          // "cpu", "cuda"
  std::string device;           // what it is called; empty: this machine's memory
  std::int32_t num_layers = 0;  // kept of each recurrent group
  std::int32_t all_layers = 0;  // that the largest group has
  std::int32_t num_blocks = 0;
  std::int64_t num_bytes = 0;
  std::int64_t num_elements_verified = 0;  // over all steps
  std::optional<std::uint64_t> digest;     // of all blocks at the end; absent: they were lost
  StateDelays delays = {};                 // of all steps
};

struct StateBytes {
  std::unique_ptr<StateBackend> backend;
  StateInBytes held;
};

// Before anything is simulated. Errors: no such device, built without it (not_available), what
// plan_state_memory refuses.
Result<StateBytes> make_state_bytes(const StateOption& option, const RunPlan& plan,
                                    const Backends& backends);

// The digest of all blocks, the same on every machine and backend. Error: the device is lost.
Result<std::uint64_t> digest_all_blocks(StateBackend& state);

// One line: "state in bytes on the CPU: 4 of 12 layers per group, 48 blocks, 234 MiB; ...".
std::string format_state_in_bytes(const StateInBytes& state);
// {fidelity, backend, device, layers, of_layers, blocks, bytes, elements_verified, digest,
// allocations, waits}; without state {fidelity}.
nlohmann::ordered_json state_to_json(const std::optional<StateInBytes>& state);

// The language model that options ask for, and the machine that it runs on: the same for every
// command that runs one.

// Makes machines on the device that is asked for; a machine whose blocks do not fit in the free
// memory is not made. Null: on the host, whose free memory is not known. Error: the device cannot
// be used.
Result<MakeLanguageMachine> language_machine(const StateOption& option, const Backends& backends);

// Without a model if none is asked for. Errors: those of load_model, and of language_machine.
Result<LanguageModel> load_language(const StateOption& option, const Backends& backends);

}  // namespace hybridscope
