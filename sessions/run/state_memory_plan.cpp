#include "sessions/run/state_memory_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/engine/policy_table.h"

namespace hybridscope {
namespace {

// The options that would make it fit. The smallest number of blocks that the run needs is not known
// here.
std::string suggestion(const StateMemory& memory, std::int64_t limit) {
  const std::int64_t layers = limit / memory.buffer_bytes();
  if (layers >= 1)
    return fmt::format("--layers {} needs {}", layers,
                       rounded_byte_size(layers * memory.buffer_bytes()));
  return fmt::format(
      "--layers 1 needs {}; expected more memory (--state-memory) or fewer blocks "
      "(--num-gpu-blocks-override)",
      rounded_byte_size(memory.buffer_bytes()));
}

// Known bug 25: the reference's shapes of some models leave no room for drafts.
Status check_conv_windows(const StateMemory& memory, const EngineConfig& config) {
  const std::int32_t needed = config.conv_kernel - 1 + config.num_speculative_tokens;
  for (const std::int32_t positions : memory.layout.state_conv_widths)
    if (positions > 0 && positions < needed)
      return invalid_input(
          fmt::format("conv windows have {} positions, the kernels use {} with {} drafts and would "
                      "write into what lies behind (expected profile safe, which makes room, or "
                      "symbolic state)",
                      positions, needed, config.num_speculative_tokens));
  return Ok{};
}

// Names every policy that is in the way.
Status check_kernels(const PolicySet& policies) {
  std::string in_the_way;
  std::string expected;
  for (const Policy& policy : policy_table()) {
    const std::uint8_t value = policy.value_in(policies);
    if (!policy.text.symbolic_state_only || value == policy.safe) continue;
    const std::string_view between = in_the_way.empty() ? "" : ", ";
    in_the_way += fmt::format("{}{} = {}", between, policy.text.name, policy.text.values[value]);
    expected += fmt::format("{}{}", between, policy.text.values[policy.safe]);
  }
  if (in_the_way.empty()) return Ok{};
  return invalid_input(fmt::format(
      "the kernels that keep state in bytes do not have the policy {} (expected {}): run without "
      "--state bytes, which checks the same decisions on symbolic state, or with --state numeric",
      in_the_way, expected));
}

}  // namespace

std::string rounded_byte_size(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  for (; size >= 1024.0 && unit + 1 < std::size(kUnits); ++unit) size /= 1024.0;
  return fmt::format("{:.{}f} {}", size, size < 10.0 ? 1 : 0, kUnits[unit]);
}

StepLimits step_limits(const EngineSetup& setup) {
  std::int32_t most_rows = setup.config.max_num_seqs;
  for (const std::int32_t size : setup.cudagraphs.capture_sizes)
    most_rows = std::max(most_rows, size);
  return {.max_num_batched_tokens = setup.config.max_num_batched_tokens, .max_num_rows = most_rows};
}

std::int32_t num_state_layers(const KVCacheConfig& config) {
  std::size_t most = 0;
  for (const KVCacheGroup& group : config.groups)
    if (group.is_mamba()) most = std::max(most, group.layers.size());
  return static_cast<std::int32_t>(most);
}

Result<StateMemory> plan_state_memory(const EngineSetup& setup, const EngineSettings& settings,
                                      const StateMemoryLimit& limit) {
  const KVCacheConfig& config = setup.config.kv_cache_config;
  auto memory =
      make_state_memory(config, {.conv_state_layout = setup.layout.settings.conv_state_layout,
                                 .conv_kernel = setup.config.conv_kernel,
                                 .max_layers = settings.state_layers.value_or(0)});
  if (!memory.ok()) return memory;
  const StateMemory& planned = memory.value();
  if (Status kernels = check_kernels(setup.config.policies); !kernels.ok()) return kernels.error();
  if (Status room = check_conv_windows(planned, setup.config); !room.ok()) return room.error();
  if (planned.total_bytes() <= limit.bytes) return memory;
  return Error{
      ErrorKind::not_available,
      fmt::format("state in bytes needs {} ({} of {} layers per group, {} blocks of {}), "
                  "more than the {} {}: {}",
                  rounded_byte_size(planned.total_bytes()), planned.num_buffers,
                  num_state_layers(config), planned.num_blocks,
                  rounded_byte_size(planned.page_size_bytes), rounded_byte_size(limit.bytes),
                  limit.reason, suggestion(planned, limit.bytes))};
}

}  // namespace hybridscope
