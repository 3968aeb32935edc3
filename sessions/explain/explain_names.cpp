#include "sessions/explain/explain_names.h"

#include <fmt/core.h>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/model/model_layout.h"

namespace hybridscope {

Names make_names(const EngineConfig& config, std::function<std::string(RequestId)> request) {
  std::vector<std::string> groups;
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    groups.push_back(
        fmt::format("group {} ({})", groups.size(),
                    mamba != nullptr ? mamba_type_name(mamba->mamba_type) : "attention"));
  }
  const auto group_name = [groups](std::int32_t group) {
    const auto index = static_cast<std::size_t>(group);
    return group >= 0 && index < groups.size() ? groups[index] : fmt::format("group {}", group);
  };
  return {.request = std::move(request),
          .group = group_name,
          .mamba_cache_mode = config.mamba_cache_mode};
}

Names make_names(const Engine& engine) {
  return make_names(engine.config(), [&engine](RequestId id) { return engine.name_of(id); });
}

Names numbered_names() {
  return {.request = [](RequestId request) { return fmt::format("r{}", request.value); },
          .group = [](std::int32_t group) { return fmt::format("group {}", group); },
          .mamba_cache_mode = MambaCacheMode::align};
}

std::string_view row_class_name(RowClass row_class) {
  static constexpr std::string_view kNames[] = {"decode", "verify", "prefill", "padding"};
  return name_at(kNames, row_class);
}

std::string_view row_origin_name(RowOrigin origin) {
  static constexpr std::string_view kNames[] = {"kept", "moved", "added", "returned"};
  return name_at(kNames, origin);
}

std::string_view commit_outcome_name(CommitOutcome outcome) {
  static constexpr std::string_view kNames[] = {"taken", "chunk", "preempted", "stale_run",
                                                "left_the_engine"};
  return name_at(kNames, outcome);
}

std::string_view admission_name(Admission admission) {
  static constexpr std::string_view kNames[] = {"running", "new", "resumed"};
  return name_at(kNames, admission);
}

std::string_view command_name(CommandKind command) {
  static constexpr std::string_view kNames[] = {
      "add_request",        "preempt",         "abort",
      "reset_prefix_cache", "set_step_budget", "set_accepted_tokens",
      "set_draft_tokens",   "set_policies"};
  return name_at(kNames, command);
}

}  // namespace hybridscope
