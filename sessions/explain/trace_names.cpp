#include "sessions/explain/trace_names.h"

namespace hybridscope {

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
