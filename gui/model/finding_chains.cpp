#include "gui/model/finding_chains.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/run/finding_list.h"

namespace hybridscope {

bool is_first_of(const FindingChain& chain, std::size_t index) {
  return chain.first >= 0 && static_cast<std::size_t>(chain.first) == index;
}

std::string chain_words(const FindingChain& chain, std::size_t index) {
  if (chain.first_step == 0) return {};
  if (!is_first_of(chain, index)) return fmt::format("from {}", chain.first_step);
  if (chain.num_following == 0) return "first";
  std::string words = fmt::format("first, {}{} follow{}", chain.at_least ? "at least " : "",
                                  chain.num_following, chain.num_following == 1 ? "s" : "");
  if (chain.num_listed < chain.num_following)
    words += fmt::format("; {} of {} shown", chain.num_listed, chain.num_following);
  return words;
}

std::string findings_note(const ShownRun& run) {
  const auto stale =
      std::ranges::find(run.findings(), Rule::stale_persistent_array,
                        [](const ShownFinding& shown) { return shown.finding.rule; });
  if (stale == run.findings().end() || run.header().language) return {};
  return fresh_arrays_words(stale->finding.step);
}

std::vector<FindingRow> finding_rows(const ShownRun& run) {
  const std::vector<FindingChain> chains = run.finding_log().chains();
  std::map<std::int64_t, std::vector<std::size_t>> following;  // by the first finding's index
  std::vector<FindingRow> rows;
  const auto add = [&](std::vector<std::size_t> members) {
    const std::size_t index = members.front();
    FindingRow row{.shown = run.findings()[index],
                   .members = std::move(members),
                   .chain = chain_words(chains[index], index),
                   .is_first = is_first_of(chains[index], index)};
    std::vector<const Finding*> findings;
    for (const std::size_t member : row.members)
      findings.push_back(&run.findings()[member].finding);
    if (findings.size() > 1) row.shown.text = explain_findings(findings, run.names());
    rows.push_back(std::move(row));
  };
  for (std::size_t i = 0; i < chains.size(); ++i)
    if (chains[i].first < 0 || is_first_of(chains[i], i))
      add({i});
    else
      following[chains[i].first].push_back(i);
  for (const auto& [first, indices] : following) {
    std::vector<const Finding*> findings;
    for (const std::size_t index : indices) findings.push_back(&run.findings()[index].finding);
    for (const FindingLine& line : lines_of_findings(findings)) {
      std::vector<std::size_t> members;
      for (const std::size_t member : line) members.push_back(indices[member]);
      add(std::move(members));
    }
  }
  std::ranges::sort(rows, {}, [](const FindingRow& row) { return row.members.front(); });
  return rows;
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
  const FindingChain chain = run.finding_log().chains()[index];
  if (chain.first < 0) return {};
  const ShownFinding& first = run.findings()[static_cast<std::size_t>(chain.first)];
  return {.step = first.finding.step,
          .words = first.decision.empty() ? first.text : first.decision};
}

}  // namespace hybridscope
