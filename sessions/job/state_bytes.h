// The memory that a run keeps its state in, and what a report says about it.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/state/state_backend.h"
#include "sessions/job/backends.h"
#include "sessions/job/state_option.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

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

}  // namespace hybridscope
