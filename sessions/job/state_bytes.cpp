#include "sessions/job/state_bytes.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "sessions/run/state_memory_plan.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// The share of free memory that state may take by default; the rest is left to others.
struct Share {
  std::int64_t parts = 1;
  std::int64_t of = 2;
  const char* words = "";
};
constexpr Share kShareOfMachine{1, 2, "half"};
constexpr Share kShareOfGpu{15, 16, "15/16"};

Result<StateMemoryLimit> find_limit(const StateOption& option, const StateDevice& device) {
  const auto free = device.free_bytes(option.device.value_or(0));
  if (!free.ok()) return free.error();
  if (option.memory_bytes && (free.value() < 0 || *option.memory_bytes <= free.value()))
    return StateMemoryLimit{.bytes = *option.memory_bytes, .reason = "of --state-memory"};
  if (option.memory_bytes)
    return StateMemoryLimit{.bytes = free.value(), .reason = "that are free"};
  if (free.value() < 0) return StateMemoryLimit{.bytes = std::int64_t{1} << 62, .reason = {}};
  const Share share =
      option.backend_kind() == StateBackendKind::cuda ? kShareOfGpu : kShareOfMachine;
  return StateMemoryLimit{
      .bytes = free.value() / share.of * share.parts,
      .reason = fmt::format("that are {} of the free memory (--state-memory)", share.words)};
}

}  // namespace

Result<StateBytes> make_state_bytes(const StateOption& option, const RunPlan& plan,
                                    const Backends& backends) {
  const bool cuda = option.backend_kind() == StateBackendKind::cuda;
  const StateDevice& device = cuda ? backends.cuda : backends.cpu;
  HS_EXPECT(device.make != nullptr);
  const auto limit = find_limit(option, device);
  if (!limit.ok()) return limit.error();
  auto memory = plan_state_memory(plan.setup, plan.settings, limit.value());
  if (!memory.ok()) return memory.error();
  StateInBytes held{.backend = state_backend_name(option.backend_kind()),
                    .device = device.name == nullptr ? "" : device.name(option.device.value_or(0)),
                    .num_layers = memory.value().num_buffers,
                    .all_layers = num_state_layers(plan.setup.config.kv_cache_config),
                    .num_blocks = memory.value().num_blocks,
                    .num_bytes = memory.value().total_bytes(),
                    .digest = {},
                    .delays = {}};
  const StepSize largest = largest_step(memory.value(), step_limits(plan.setup));
  auto backend = device.make({.memory = std::move(memory).value(),
                              .largest_step = largest,
                              .device = option.device.value_or(0)});
  if (!backend.ok()) return backend.error();
  return StateBytes{std::move(backend).value(), std::move(held)};
}

Result<std::uint64_t> digest_all_blocks(StateBackend& state) {
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(state.memory().num_blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  const auto digests = state.digests(blocks);
  if (!digests.ok()) return digests.error();
  std::uint64_t all = 0;
  for (const std::uint64_t digest : digests.value()) all = mix(all, digest);
  return all;
}

std::string format_state_in_bytes(const StateInBytes& state) {
  const std::string place = state.device.empty() ? "this machine" : state.device;
  const std::string delays =
      state.delays == StateDelays{}
          ? std::string()
          : fmt::format("; the steps allocated {} times and waited {} times for the device",
                        state.delays.num_allocations, state.delays.num_waits);
  return fmt::format(
      "state in bytes ({}, {}): {} of {} layers per group, {} blocks, {}; {} verified, {}{}\n",
      state.backend, place, state.num_layers, state.all_layers, state.num_blocks,
      rounded_byte_size(state.num_bytes), counted(state.num_elements_verified, "element"),
      state.digest ? fmt::format("digest {:016x}", *state.digest) : "no digest", delays);
}

nlohmann::ordered_json state_to_json(const std::optional<StateInBytes>& state) {
  nlohmann::ordered_json json = {{"fidelity", state ? "bytes" : "symbolic"}};
  if (!state) return json;
  json["backend"] = state->backend;
  json["device"] =
      state->device.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(state->device);
  json["layers"] = state->num_layers;
  json["of_layers"] = state->all_layers;
  json["blocks"] = state->num_blocks;
  json["bytes"] = state->num_bytes;
  json["elements_verified"] = state->num_elements_verified;
  json["digest"] = state->digest ? nlohmann::ordered_json(fmt::format("{:016x}", *state->digest))
                                 : nlohmann::ordered_json();
  json["allocations"] = state->delays.num_allocations;
  json["waits"] = state->delays.num_waits;
  return json;
}

}  // namespace hybridscope
