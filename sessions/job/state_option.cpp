#include "sessions/job/state_option.h"

#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "core/language/language_machine.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/run/run_plan.h"
#include "sessions/text/number_words.h"
#include "sessions/weights/load_model.h"

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

namespace {

// Error: the blocks need more than `free` bytes (negative: not known).
Status expect_room(const LanguageMachineRequest& request, std::int64_t free) {
  const auto layout = make_language_layout(
      request.model, request.kv_cache_config,
      {.num_drafts = request.num_speculative_tokens, .missing = request.missing_conv_positions});
  if (!layout.ok()) return layout.error();
  const std::int64_t of_block = layout.value().bytes_per_block();
  const std::int32_t num_blocks = layout.value().num_blocks;
  if (free < 0 || num_blocks <= free / of_block) return Ok{};
  return Error{ErrorKind::not_available,
               fmt::format("{} blocks of the language model take {}, and {} of memory are free: "
                           "enough for {} (num_gpu_blocks_override)",
                           num_blocks, rounded_byte_size(of_block * num_blocks),
                           rounded_byte_size(free), free / of_block)};
}

MakeLanguageMachine on_host(const StateDevice& cpu) {
  if (cpu.free_bytes == nullptr) return {};
  return [free_bytes = cpu.free_bytes](
             const LanguageMachineRequest& request) -> Result<std::unique_ptr<LanguageMachine>> {
    const auto free = free_bytes(0);
    if (!free.ok()) return free.error();
    if (const Status room = expect_room(request, free.value()); !room) return room.error();
    return HostLanguageMachine::create(request);
  };
}

}  // namespace

Result<MakeLanguageMachine> language_machine(const StateOption& option, const Backends& backends) {
  if (option.backend_kind() != StateBackendKind::cuda) return on_host(backends.cpu);
  const StateDevice& cuda = backends.cuda;
  const std::int32_t device = option.device.value_or(0);
  if (cuda.free_bytes != nullptr)
    if (const auto there = cuda.free_bytes(device); !there.ok()) return there.error();
  return MakeLanguageMachine(
      [make = cuda.make_language, device](const LanguageMachineRequest& request) {
        HS_EXPECT(make != nullptr);
        return make(request, device);
      });
}

Result<LanguageModel> load_language(const StateOption& option, const Backends& backends) {
  if (!option.is_numeric()) return LanguageModel();
  auto machine = language_machine(option, backends);
  if (!machine.ok()) return machine.error();
  auto loaded = load_model(option.weights);
  if (!loaded.ok()) return loaded.error();
  return LanguageModel{
      .folder = option.weights,
      .form = option.form.value_or(NumericForm::recurrent),
      .model = std::make_shared<const HybridModel>(std::move(loaded).value().model),
      .make_machine = std::move(machine).value()};
}

}  // namespace hybridscope
