#include "gui/model/finding_chains.h"

#include <fmt/core.h>

#include "sessions/explain/root_decision.h"

namespace hybridscope {

std::vector<std::ptrdiff_t> finding_chains(const ShownRun& run) {
  FindingRoots roots;
  std::vector<std::ptrdiff_t> first_of;  // [roots]
  std::vector<std::ptrdiff_t> chains;
  for (const ShownFinding& shown : run.findings()) {
    const auto index = static_cast<std::ptrdiff_t>(chains.size());
    chains.push_back(-1);
    if (rule_info(shown.finding.rule).severity != Severity::error) continue;
    const std::size_t root = roots.add(shown.finding);
    if (root == first_of.size()) first_of.push_back(index);
    chains.back() = first_of[root];
  }
  return chains;
}

std::string chain_words(const ShownRun& run, std::ptrdiff_t root, std::size_t index) {
  if (root < 0) return {};
  if (static_cast<std::size_t>(root) == index) return "first";
  return fmt::format("from {}", run.findings()[static_cast<std::size_t>(root)].finding.step);
}

std::string decision_behind(const ShownRun& run, const Finding& finding) {
  if (finding.step != run.step()) return {};
  RootContext context{
      .trace = run.view().trace, .names = run.names(), .own = run.own_count(finding.request)};
  for (const ShownFinding& shown : run.findings())
    if (shown.finding.request == finding.request &&
        rule_info(shown.finding.rule).severity == Severity::warning &&
        shown.finding.step <= finding.step)
      context.warning = shown.finding;
  return root_decision(finding, context);
}

ChainStart chain_start(const ShownRun& run, std::size_t index) {
  const std::ptrdiff_t root = finding_chains(run)[index];
  if (root < 0) return {};
  const ShownFinding& first = run.findings()[static_cast<std::size_t>(root)];
  std::string decision = decision_behind(run, first.finding);
  return {.step = first.finding.step, .words = decision.empty() ? first.text : std::move(decision)};
}

}  // namespace hybridscope
