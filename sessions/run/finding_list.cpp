#include "sessions/run/finding_list.h"

#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sessions/explain/explain_finding.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

std::string fresh_arrays_words(std::int64_t step) {
  return fmt::format(
      "from step {} on states were computed from the arrays of each step, not from the stale ones "
      "that the replayed graph reads: run --state numeric shows what those do",
      step);
}

namespace {

bool is_error(const KeptFinding& kept) {
  return rule_info(kept.finding.rule).severity == Severity::error;
}

bool same_kind(const WarningBeginning& one, const Finding& warning) {
  return one.chain.finding.rule == warning.rule && one.chain.finding.detail == warning.detail;
}

}  // namespace

std::string CauseWords::sentence() const {
  if (!cause.empty()) return "this is " + cause;
  return not_known.empty() ? "" : "its cause is not known: " + not_known;
}

FindingList::FindingList(bool all_decisions) : rules_(rule_table().size()), roots_(all_decisions) {}

void FindingList::note_damage(const Finding& finding, const Names& names) {
  if (rule_info(finding.rule).severity != Severity::error) return;
  const auto id = static_cast<std::size_t>(std::max(finding.request.value, -1) + 1);
  if (id >= damage_of_.size()) damage_of_.resize(id + 1, 0);
  if (damage_of_[id] == 0) {
    damage_.push_back({.request = id == 0 ? "" : names.request(finding.request),
                       .first_step = finding.step,
                       .first_rule = finding.rule});
    damage_of_[id] = damage_.size();
  }
  RequestDamage& damage = damage_[damage_of_[id] - 1];
  damage.last_step = finding.step;
  ++damage.found;
}

void FindingList::note_warning(const Finding& finding, bool expected) {
  auto kind = std::ranges::find_if(
      warnings_, [&](const WarningBeginning& one) { return same_kind(one, finding); });
  if (kind == warnings_.end()) {
    if (warnings_.size() == kMaxRootsWithCause) return;
    warnings_.push_back({.chain = {.finding = finding, .last_step = finding.step}, .cause = {}});
    kind = warnings_.end() - 1;
  }
  kind->unexpected += expected ? 0 : 1;
}

std::span<const WarningBeginning> FindingList::warnings() const {
  return roots().empty() ? std::span(warnings_) : std::span<const WarningBeginning>();
}

std::int64_t FindingList::first_step() const {
  if (!roots().empty()) return roots()[0].finding.step;
  return warnings_.empty() ? 0 : warnings_[0].chain.finding.step;
}

// The sentence about the cause of a finding in warnings().
std::string FindingList::warning_cause(const Finding& finding) const {
  for (const WarningBeginning& one : warnings())
    if (same_kind(one, finding) && one.chain.finding.step == finding.step &&
        one.chain.finding.request == finding.request)
      return one.cause.sentence();
  return {};
}

void FindingList::add(const StepTrace& trace, std::span<const Finding> findings,
                      const Expects& expects, const Names& names) {
  const auto prompt_of = [&trace](RequestId request) {
    const auto of = std::ranges::find(trace.scheduled, request, &ScheduledTrace::request);
    return of == trace.scheduled.end() ? 0 : of->num_prompt_tokens;
  };
  const std::size_t known = root_words_.size();
  for (const Finding& finding : findings)
    add(finding, expects && expects(finding), names,
        [&](const Finding& root) { return roots_.decision(trace, root, names); });
  for (std::size_t root = known; root < root_words_.size(); ++root)
    root_words_[root].num_prompt_tokens = prompt_of(roots()[root].finding.request);
  roots_.end_step(trace);
}

void FindingList::add_recorded(const Finding& finding, const Names& names, const Decide& decide) {
  add(finding, false, names,
      [&](const Finding& root) { return decide(root, roots_.last_warning(root.request)); });
}

void FindingList::add(const Finding& finding, bool expected, const Names& names,
                      const Words& decide) {
  note_damage(finding, names);
  if (finding.rule == Rule::stale_persistent_array && stale_arrays_step_ == 0)
    stale_arrays_step_ = finding.step;
  if (finding.step != last_step_) last_roots_.clear();
  last_step_ = finding.step;
  KeptFinding kept{.finding = finding, .expected = expected};
  if (rule_info(finding.rule).severity == Severity::error) {
    kept.root = roots_.add(finding);
    kept.is_root = kept.root == root_words_.size();
    if (kept.is_root) {
      root_words_.push_back(
          {.decision = kept.root < kMaxRootsShown ? decide(finding) : std::string(), .cause = {}});
      root_requests_.push_back(finding.request.value < 0 ? "" : names.request(finding.request));
      root_unexpected_.emplace_back();
    }
    if (!expected) ++root_unexpected_[kept.root][finding.rule];
  } else {
    roots_.add_warning(finding);
    note_warning(finding, expected);
  }
  last_roots_.push_back(is_error(kept) ? kept.root : kNoRoot);
  RuleCount& count = rules_[static_cast<std::size_t>(finding.rule)];
  ++count.found;
  count.unexpected += expected ? 0 : 1;
  const bool is_shown_root = kept.is_root && kept.root < kMaxRootsShown;
  if (count.found > kMaxFindingsARule && !is_shown_root) return;
  kept.text = explain_finding(finding, names);
  kept.line = kept.text;
  kept.json = std::make_shared<const nlohmann::ordered_json>(finding_to_json(finding, names));
  kept_.push_back(std::move(kept));
  if (is_error(kept_.back()) && !kept_.back().is_root) tell_lines(names);
}

std::int64_t FindingList::sum(Severity severity, std::int64_t RuleCount::*number) const {
  std::int64_t sum = 0;
  for (const RuleInfo& info : rule_table())
    if (info.severity == severity) sum += count(info.rule).*number;
  return sum;
}

std::vector<const KeptFinding*> FindingList::shown() const {
  std::vector<const KeptFinding*> list;
  for (const KeptFinding& finding : kept_) list.push_back(&finding);
  std::stable_sort(list.begin(), list.end(), [](const KeptFinding* a, const KeptFinding* b) {
    return rule_info(a->finding.rule).severity < rule_info(b->finding.rule).severity;
  });
  if (list.size() > kMaxFindingsShown) list.resize(kMaxFindingsShown);
  return list;
}

// Their number, and the lines of those that are kept, indented.
std::string FindingList::format_following(std::size_t root) const {
  std::string text;
  std::int64_t num_shown = 0;
  for (const KeptFinding& kept : kept_) {
    if (!is_error(kept) || kept.root != root || kept.is_root) continue;
    ++num_shown;
    if (!kept.line.empty()) text += "    " + kept.line + "\n";
  }
  const std::string following = following_words(roots()[root], num_shown);
  return following.empty() ? text : "  " + following + ":\n" + text;
}

// The lines of what the last step added to the chain of the last finding, which are one more now.
// Expected findings are in lines of their own: a reader of JUnit leaves their lines out.
void FindingList::tell_lines(const Names& names) {
  const std::size_t root = kept_.back().root;
  const bool expected = kept_.back().expected;
  std::vector<KeptFinding*> of_step;
  std::vector<const Finding*> findings;
  for (auto kept = kept_.rbegin(); kept != kept_.rend() && kept->finding.step == last_step_;
       ++kept) {
    if (!is_error(*kept) || kept->root != root || kept->is_root || kept->expected != expected)
      continue;
    of_step.push_back(&*kept);
  }
  std::ranges::reverse(of_step);
  for (const KeptFinding* kept : of_step) findings.push_back(&kept->finding);
  for (const FindingLine& line : lines_of_findings(findings)) {
    std::vector<const Finding*> members;
    for (const std::size_t index : line) members.push_back(findings[index]);
    for (const std::size_t index : line) of_step[index]->line.clear();
    of_step[line.front()]->line = explain_findings(members, names);
  }
}

std::string FindingList::format_roots() const {
  std::string text;
  for (const KeptFinding& kept : kept_) {
    if (!is_error(kept) || !kept.is_root || kept.root >= kMaxRootsShown) continue;
    const RootWords& words = root_words_[kept.root];
    if (!words.decision.empty()) text += words.decision + "\n";
    text += (words.decision.empty() ? "" : "  ") + kept.text + "\n";
    if (const std::string cause = words.cause.sentence(); !cause.empty())
      text += "  " + cause + "\n";
    text += format_following(kept.root);
  }
  if (roots().size() > kMaxRootsShown)
    text += fmt::format(
        "{} of this kind are not shown\n",
        counted(static_cast<std::int64_t>(roots().size() - kMaxRootsShown), "more beginning"));
  for (const KeptFinding& kept : kept_) {
    if (is_error(kept)) continue;
    text += kept.text + "\n";
    if (const std::string cause = warning_cause(kept.finding); !cause.empty())
      text += "  " + cause + "\n";
  }
  return text;
}

std::string FindingList::format_causes() const {
  std::string text;
  const auto add = [&text](std::int64_t step, const CauseWords& words) {
    if (const std::string cause = words.sentence(); !cause.empty())
      text += fmt::format("step {}: {}\n", step, cause);
  };
  for (std::size_t root = 0; root < root_words_.size(); ++root)
    add(roots()[root].finding.step, root_words_[root].cause);
  for (const WarningBeginning& warning : warnings()) add(warning.chain.finding.step, warning.cause);
  return text;
}

std::string FindingList::text_with_root(const KeptFinding& kept) const {
  if (!is_error(kept)) {
    const std::string cause = warning_cause(kept.finding);
    return cause.empty() ? kept.text : kept.text + "; " + cause;
  }
  if (!kept.is_root)
    return fmt::format("{}; follows from step {}", kept.line, roots()[kept.root].finding.step);
  const RootWords& words = root_words_[kept.root];
  std::string text = kept.text;
  if (!words.decision.empty()) text = words.decision + ": " + text;
  if (const std::string cause = words.cause.sentence(); !cause.empty()) text += "; " + cause;
  const std::string following = following_words(roots()[kept.root]);
  return following.empty() ? text : text + "; " + following;
}

std::int64_t FindingList::excuse_root(std::size_t root) {
  std::int64_t excused = 0;
  for (const auto& [rule, found] : root_unexpected_[root]) {
    rules_[static_cast<std::size_t>(rule)].unexpected -= found;
    excused += found;
  }
  root_unexpected_[root].clear();
  for (KeptFinding& kept : kept_)
    if (is_error(kept) && kept.root == root) kept.expected = true;
  return excused;
}

std::int64_t FindingList::excuse_warning(std::size_t warning) {
  WarningBeginning& kind = warnings_[warning];
  rules_[static_cast<std::size_t>(kind.chain.finding.rule)].unexpected -= kind.unexpected;
  for (KeptFinding& kept : kept_)
    if (!is_error(kept) && same_kind(kind, kept.finding)) kept.expected = true;
  return std::exchange(kind.unexpected, 0);
}

void FindingList::find_causes(const FindCauses& find) {
  std::vector<Finding> beginnings;
  for (std::size_t root = 0; root < std::min(roots().size(), kMaxRootsWithCause); ++root)
    beginnings.push_back(roots()[root].finding);
  const std::size_t num_roots = beginnings.size();
  for (const WarningBeginning& warning : warnings()) beginnings.push_back(warning.chain.finding);
  if (beginnings.empty()) return;
  std::vector<CauseWords> causes = find(beginnings);
  for (std::size_t i = 0; i < causes.size(); ++i)
    i < num_roots ? set_cause(i, std::move(causes[i]))
                  : set_warning_cause(i - num_roots, std::move(causes[i]));
}

std::vector<std::string> FindingList::last_chain_words() const {
  std::vector<std::string> words;
  std::size_t last = kNoRoot;  // findings of one chain are told once
  for (const std::size_t root : last_roots_) {
    words.emplace_back();
    if (root == kNoRoot || root == last) continue;
    last = root;
    const FindingRoot& first = roots()[root];
    const std::string& decision = root_words_[root].decision;
    const bool begins = first.finding.step == last_step_;
    if (begins && decision.empty()) continue;
    words.back() = begins ? "what went wrong first: " + decision
                          : fmt::format("follows from step {}{}{}", first.finding.step,
                                        decision.empty() ? "" : ": ", decision);
  }
  return words;
}

std::int64_t FindingList::root_step(const KeptFinding& kept) const {
  return is_error(kept) ? roots()[kept.root].finding.step : kept.finding.step;
}

nlohmann::ordered_json FindingList::roots_json() const {
  const auto or_null = [](const std::string& words) {
    return words.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(words);
  };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < roots().size(); ++i) {
    const FindingRoot& root = roots()[i];
    list.push_back({{"request", or_null(root_requests_[i])},
                    {"rule", rule_info(root.finding.rule).slug},
                    {"step", root.finding.step},
                    {"decision", or_null(root_words_[i].decision)},
                    {"cause", or_null(root_words_[i].cause.cause)},
                    {"cause_not_known", or_null(root_words_[i].cause.not_known)},
                    {"following", root.num_following},
                    {"last_step", root.last_step}});
  }
  return list;
}

std::string FindingList::format_left_out() const {
  std::string text;
  for (const RuleInfo& info : rule_table())
    if (count(info.rule).found > kMaxFindingsARule)
      text += fmt::format("{}: the first {} of {} are shown\n", info.slug, kMaxFindingsARule,
                          grouped_number(count(info.rule).found));
  if (const std::string note = fresh_arrays_note(); !note.empty()) text += note + "\n";
  return text;
}

std::string FindingList::fresh_arrays_note() const {
  if (stale_arrays_step_ == 0 || runs_replays_) return {};
  return fresh_arrays_words(stale_arrays_step_);
}

nlohmann::ordered_json FindingList::by_rule() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const RuleInfo& info : rule_table())
    if (count(info.rule).found > 0) json[std::string(info.slug)] = count(info.rule).found;
  return json;
}

std::string FindingList::format_by_request() const {
  if (num_found(Severity::error) < 2) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(damage_.size(), kMaxRequestsShown); ++i) {
    const RequestDamage& damage = damage_[i];
    text += fmt::format("  {}: {}, {}, first {}\n",
                        damage.request.empty() ? "no request" : damage.request,
                        counted(damage.found, "finding"),
                        damage.first_step == damage.last_step
                            ? fmt::format("step {}", damage.first_step)
                            : fmt::format("steps {} to {}", damage.first_step, damage.last_step),
                        rule_info(damage.first_rule).slug);
  }
  if (damage_.size() > kMaxRequestsShown)
    text += fmt::format(
        "  {} more\n",
        counted(static_cast<std::int64_t>(damage_.size() - kMaxRequestsShown), "request"));
  return text;
}

nlohmann::ordered_json FindingList::by_request_json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RequestDamage& damage : damage_)
    list.push_back({{"request", damage.request},
                    {"findings", damage.found},
                    {"first_step", damage.first_step},
                    {"last_step", damage.last_step},
                    {"first_rule", rule_info(damage.first_rule).slug}});
  return list;
}

}  // namespace hybridscope
