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
  switch (row_class) {
    case RowClass::decode:
      return "decode";
    case RowClass::verify:
      return "verify";
    case RowClass::prefill:
      return "prefill";
    case RowClass::padding:
      return "padding";
  }
  return {};
}

std::string_view row_origin_name(RowOrigin origin) {
  switch (origin) {
    case RowOrigin::kept:
      return "kept";
    case RowOrigin::moved:
      return "moved";
    case RowOrigin::added:
      return "added";
    case RowOrigin::returned:
      return "returned";
  }
  return {};
}

std::string_view commit_outcome_name(CommitOutcome outcome) {
  switch (outcome) {
    case CommitOutcome::taken:
      return "taken";
    case CommitOutcome::chunk:
      return "chunk";
    case CommitOutcome::preempted:
      return "preempted";
    case CommitOutcome::stale_run:
      return "stale_run";
    case CommitOutcome::left_the_engine:
      return "left_the_engine";
  }
  return {};
}

std::string_view admission_name(Admission admission) {
  switch (admission) {
    case Admission::running:
      return "running";
    case Admission::new_request:
      return "new";
    case Admission::resumed:
      return "resumed";
  }
  return {};
}

std::string_view command_name(CommandKind command) {
  switch (command) {
    case CommandKind::add_request:
      return "add_request";
    case CommandKind::preempt:
      return "preempt";
    case CommandKind::abort:
      return "abort";
    case CommandKind::reset_prefix_cache:
      return "reset_prefix_cache";
    case CommandKind::set_step_budget:
      return "set_step_budget";
    case CommandKind::set_accepted_tokens:
      return "set_accepted_tokens";
    case CommandKind::set_draft_tokens:
      return "set_draft_tokens";
    case CommandKind::set_policies:
      return "set_policies";
  }
  return {};
}

}  // namespace hybridscope
