#include "sessions/job/session_findings.h"

#include <fmt/core.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "sessions/known_bugs/finding_cause.h"
#include "sessions/record/session_plan.h"
#include "sessions/text/shell_word.h"

namespace hybridscope {

Result<FindingList> session_findings(SessionReader& reader, const Names& names, std::int64_t last) {
  const auto found = reader.findings(std::numeric_limits<std::int64_t>::max());
  if (!found.ok()) return found.error();
  std::optional<Error> error;
  FindingList list(reader.info().header.knows_own_counts());
  if (reader.info().header.language) list.set_runs_replays();
  const auto decide = [&](const Finding& root,
                          const std::optional<Finding>& warning) -> std::string {
    const auto record = reader.read(root.step);
    if (!record.ok()) {
      error = record.error();
      return {};
    }
    return root_decision(root, {.trace = record.value()->trace,
                                .names = names,
                                .own = reader.own_count(root.request, root.step),
                                .warning = warning});
  };
  for (const Finding& finding : found.value()) {
    if (finding.step > last) break;
    list.add_recorded(finding, names, decide);
    if (error) return *error;
  }
  return list;
}

FindingList::FindCauses session_cause_finder(const SessionInfo& info) {
  if (info.header.kind == SessionKind::judge) return {};
  auto read = read_session_plan(info.header.plan, info.header.name);
  if (!read.ok()) return {};
  const auto plan = std::make_shared<const RunPlan>(std::move(read).value());
  return [plan, scope = info.header.check](std::span<const Finding> findings) {
    return find_cause_words(*plan, findings, {.scope = scope});
  };
}

std::string show_step_words(const SessionPlace& place, std::int64_t step) {
  const std::string text = place.name.empty() ? place.file : place.file + ":" + place.name;
  return fmt::format("hybridscope sessions show {} --step {} --explain", shell_word(text), step);
}

}  // namespace hybridscope
