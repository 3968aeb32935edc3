#include "sessions/known_bugs/likely_bugs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sessions/known_bugs/bug_exhibit.h"

namespace hybridscope {
namespace {

bool expects(const KnownBug& bug, Rule rule) {
  const auto exhibit = shipped_bug(bug.id);
  if (!exhibit.ok() || !exhibit.value().scenario.expect.findings) return false;
  return std::ranges::any_of(
      *exhibit.value().scenario.expect.findings,
      [rule](const ExpectedFinding& finding) { return finding.rule == rule_info(rule).slug; });
}

bool is_wrong_read_of_conv(const Finding& finding) {
  return finding.content == ContentKind::conv && (finding.rule == Rule::running_state_wrong ||
                                                  finding.rule == Rule::read_of_unwritten_block);
}

bool is_lost_frame(const Finding& finding) {
  return finding.detail == "appended tokens of a valid frame";
}

// What of bugs with the same policies only one shows.
struct BugMark {
  std::string_view id;
  bool (*shows)(const BugEvidence&);
};
constexpr std::array kMarks = {
    BugMark{"one-token-first-chunk-as-decode",
            [](const BugEvidence& e) { return e.finding.expected == 0; }},
    BugMark{"resumed-tail-runs-as-decode",
            [](const BugEvidence& e) { return e.finding.expected > 0; }},
    BugMark{"padded-prompt-tail-folds-placeholders",
            [](const BugEvidence& e) { return e.num_prompt_tokens > 1; }},
    BugMark{"padded-one-token-prompt-folds-placeholders",
            [](const BugEvidence& e) { return e.num_prompt_tokens == 1; }},
    BugMark{"all-mode-spec-boundary-not-stored",
            [](const BugEvidence& e) { return !is_wrong_read_of_conv(e.finding); }},
    BugMark{"all-mode-conv-anchor-mismatch",
            [](const BugEvidence& e) { return is_wrong_read_of_conv(e.finding); }},
    BugMark{"reset-stale-frame-rolls-back-computed",
            [](const BugEvidence& e) { return !is_lost_frame(e.finding); }},
    BugMark{"reset-discards-later-valid-frames",
            [](const BugEvidence& e) { return is_lost_frame(e.finding); }},
};

bool shows_mark(const KnownBug& bug, const BugEvidence& evidence) {
  const auto mark = std::ranges::find(kMarks, bug.id, &BugMark::id);
  return mark != kMarks.end() && mark->shows(evidence);
}

}  // namespace

std::vector<const KnownBug*> likely_bugs(std::span<const KnownBug* const> bugs,
                                         const BugEvidence& evidence) {
  std::vector<const KnownBug*> likely(bugs.begin(), bugs.end());
  const auto keep = [&likely](const auto& fits) {
    if (likely.size() > 1 && std::ranges::any_of(likely, fits))
      std::erase_if(likely, [&](const KnownBug* bug) { return !fits(bug); });
  };
  const std::vector<const KnownBug*> of_engine = bugs_of(evidence.profile, evidence.runner);
  keep([&](const KnownBug* bug) { return std::ranges::count(of_engine, bug) > 0; });
  keep([&](const KnownBug* bug) { return shows_mark(*bug, evidence); });
  keep([&](const KnownBug* bug) { return expects(*bug, evidence.finding.rule); });
  return likely;
}

std::string bug_cause_words(std::span<const KnownBug* const> bugs) {
  std::string text;
  for (const KnownBug* bug : bugs) {
    const std::string number = bug_number(*bug);
    text += fmt::format("{}known bug {}{}{}", text.empty() ? "" : ", or ", number,
                        number.empty() ? "" : ", ", bug->id);
  }
  if (bugs.size() > 1)
    text += ": the same policy brings each of them back, and the finding fits each";
  return text;
}

}  // namespace hybridscope
