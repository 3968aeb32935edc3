#include "gui/model/finding_chains.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "core/base/result.h"
#include "gui/model/workbench.h"
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

namespace {

// A row of the list: findings of one chain that differ only in group and kind of state are told in
// one (explain_findings).
struct FindingRow {
  ShownFinding shown;                // the first; its text tells them all
  std::vector<std::size_t> members;  // indices of run.findings()
  std::string chain;                 // chain_words()
  bool is_first = false;             // of its chain
};

// In the order of their first findings.
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

constexpr std::array<ColumnWords, 6> kFindingHeadings = {{
    {"Step"},
    {"Write", "The step whose write left what was found"},
    {"Chain",
     "first: nothing that was wrong before explains it, and so many findings follow from it; "
     "from N: it follows from the finding of step N",
     ColumnKind::words},
    {"Rule", {}, ColumnKind::words, true},
    {"Request", {}, ColumnKind::words, true},
    {"What", {}, ColumnKind::wrapped},
}};

std::vector<Click> go_to(std::int64_t step, std::size_t finding) {
  return {{"run.go_to", fmt::format("{}", step)},
          {"select.finding", fmt::format("{}", finding + 1)}};
}

TableCell write_cell(const Finding& finding, std::size_t index) {
  if (finding.cause.kind == WriteKind::never) return {};
  return with_extras(number_cell(finding.cause.step),
                     {.clicks = go_to(finding.cause.step, index),
                      .mark = fmt::format("finding {} write", index),
                      .tooltip = "Go to the step whose write left what was found"});
}

// The decision and the known bug behind the first of a chain, where they are known, and the
// finding.
TableCell message_cell(const Workbench& workbench, const FindingRow& row) {
  const ShownFinding& shown = row.shown;
  const std::size_t index = row.members.front();
  CellExtras extras{.whole = shown.text};
  if (!shown.decision.empty()) extras.above.push_back(words_cell(shown.decision, Tone::error));
  if (const std::string_view cause = workbench.cause_of(shown); !cause.empty() && row.is_first)
    extras.above.push_back(words_cell(cause, Tone::accent));
  else if (row.is_first && workbench.run()->plan() != nullptr)
    extras.above.push_back(with_extras(
        {}, {.clicks = {{"select.finding", fmt::format("{}", index + 1)}, {"select.cause"}},
             .label = "Known bug?",
             .mark = fmt::format("finding {} cause", index),
             .tooltip = "Search for the known bug, or the policy, that this finding comes from"}));
  return with_extras(words_cell(finding_message(shown, workbench.run()->names())),
                     std::move(extras));
}

}  // namespace

Picture findings_picture(Workbench& workbench) {
  const ShownRun& run = *workbench.run();
  if (run.findings().empty()) return {.notes = {"No finding in the steps so far."}};
  Table table{.title = "Findings", .headings = headings_of(kFindingHeadings)};
  const std::ptrdiff_t selected = workbench.selection().finding;
  for (const FindingRow& listed : finding_rows(run)) {
    const Finding& finding = listed.shown.finding;
    const RuleInfo& rule = rule_info(finding.rule);
    const std::size_t index = listed.members.front();
    TableRow& row = table.rows.emplace_back(TableRow{
        number_cell(finding.step), write_cell(finding, index), words_cell(listed.chain, Tone::dim),
        words_cell(rule.slug, rule.severity == Severity::error ? Tone::error : Tone::warning),
        finding.request.value < 0 ? TableCell() : words_cell(run.names().request(finding.request)),
        message_cell(workbench, listed)});
    row.mark = fmt::format("finding {}", index);
    row.clicks = go_to(finding.step, index);
    row.tooltip = rule.meaning;
    row.is_selected =
        selected < 0 ? finding.step == run.step()
                     : std::ranges::count(listed.members, static_cast<std::size_t>(selected)) > 0;
  }
  Picture picture{.tables = {std::move(table)}};
  add_note(picture, findings_note(run));
  return picture;
}

void CauseJob::begin(const RunPlan& plan, const ShownFinding& finding, CheckScope scope) {
  HS_EXPECT(!is_busy());
  std::erase_if(dropped_, [](const std::future<FindingCause>& search) {
    return search.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  finding_ = finding.text;
  search_ = std::async(std::launch::async, [plan, found = finding.finding, scope] {
    return find_cause(plan, found,
                      {.scope = scope, .most_request_steps = kMostUnaskedRequestSteps});
  });
}

void CauseJob::drop() {
  if (is_busy()) dropped_.push_back(std::move(search_));
  search_ = {};
}

std::optional<CauseJob::Found> CauseJob::take() {
  if (!is_busy() || search_.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    return std::nullopt;
  return Found{.finding = std::move(finding_), .cause = search_.get()};
}

}  // namespace hybridscope
