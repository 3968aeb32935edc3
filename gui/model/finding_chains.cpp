#include "gui/model/finding_chains.h"

#include <fmt/core.h>

namespace hybridscope {

std::vector<FindingChain> finding_chains(const ShownRun& run) {
  constexpr std::size_t kNoRoot = static_cast<std::size_t>(-1);
  FindingRoots roots;
  std::vector<std::size_t> root_of;      // [findings]
  std::vector<std::ptrdiff_t> first_of;  // [roots]
  for (const ShownFinding& shown : run.findings()) {
    const auto index = static_cast<std::ptrdiff_t>(root_of.size());
    root_of.push_back(kNoRoot);
    if (rule_info(shown.finding.rule).severity != Severity::error) continue;
    root_of.back() = roots.add(shown.finding);
    if (root_of.back() == first_of.size()) first_of.push_back(index);
  }
  std::vector<FindingChain> chains;
  for (const std::size_t root : root_of)
    chains.push_back(root == kNoRoot
                         ? FindingChain{}
                         : FindingChain{.first = first_of[root],
                                        .num_following = roots.roots()[root].num_following});
  return chains;
}

bool is_first_of(const FindingChain& chain, std::size_t index) {
  return chain.first >= 0 && static_cast<std::size_t>(chain.first) == index;
}

std::string chain_words(const ShownRun& run, const FindingChain& chain, std::size_t index) {
  if (chain.first < 0) return {};
  if (!is_first_of(chain, index))
    return fmt::format("from {}",
                       run.findings()[static_cast<std::size_t>(chain.first)].finding.step);
  if (chain.num_following == 0) return "first";
  return fmt::format("first, {} follow{}", chain.num_following,
                     chain.num_following == 1 ? "s" : "");
}

std::string decision_behind(const Finding& finding, RootContext context,
                            std::span<const ShownFinding> findings) {
  for (const ShownFinding& shown : findings)
    if (shown.finding.request == finding.request &&
        rule_info(shown.finding.rule).severity == Severity::warning &&
        shown.finding.step <= finding.step)
      context.warning = shown.finding;
  return root_decision(finding, context);
}

ChainStart chain_start(const ShownRun& run, std::size_t index) {
  const std::ptrdiff_t root = finding_chains(run)[index].first;
  if (root < 0) return {};
  const ShownFinding& first = run.findings()[static_cast<std::size_t>(root)];
  return {.step = first.finding.step,
          .words = first.decision.empty() ? first.text : first.decision};
}

}  // namespace hybridscope
