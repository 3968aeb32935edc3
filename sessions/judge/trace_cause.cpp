#include "sessions/judge/trace_cause.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/engine/batch_metadata_policies.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/scenario/settings.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

PolicySet policies_with(const EngineProfile& profile, ModelRunner runner,
                        PolicyOverrides overrides) {
  EngineSettings settings;
  settings.engine = profile;
  settings.runner = runner;
  settings.policies = std::move(overrides);
  return resolve_policies(settings);
}

std::optional<ForeignHeader> header_of(const KeptTrace& trace) {
  TraceReader reader("");
  if (!reader.read_line(std::string_view(trace.lines()[0]), 1).ok()) return std::nullopt;
  return reader.header();
}

// Steps behind the last root in which a candidate may still turn out not to be the cause.
constexpr std::int64_t kStepsBehind = 20;

// Bugs of more policies add what does not matter here.
void keep_fewest_policies(std::vector<const KnownBug*>& bugs) {
  std::size_t fewest = SIZE_MAX;
  for (const KnownBug* bug : bugs) fewest = std::min(fewest, bug->values().size());
  std::erase_if(bugs, [fewest](const KnownBug* bug) { return bug->values().size() > fewest; });
}

}  // namespace

EngineProfile profile_of(const KeptTrace& trace) {
  const auto header = trace.lines().empty() ? std::nullopt : header_of(trace);
  return header && header->release ? EngineProfile::vllm(*header->release)
                                   : EngineProfile(EngineProfile::safe);
}

void KeptTrace::begin(std::string_view header_line) {
  *this = {};
  add(header_line);
}

void KeptTrace::add(std::string_view line) {
  if (too_long_) return;
  num_bytes_ += line.size();
  too_long_ = num_bytes_ > kMostBytes;
  if (too_long_)
    lines_ = {};
  else
    lines_.emplace_back(line);
}

std::optional<std::int64_t> TraceCauses::first_difference(const KeptTrace& trace,
                                                          const PolicySet& policies,
                                                          std::int64_t last) {
  TraceReader reader("");
  std::optional<EngineComparison> comparison;
  for (std::size_t i = 0; i < trace.lines().size(); ++i) {
    const auto read =
        reader.read_line(std::string_view(trace.lines()[i]), static_cast<std::int64_t>(i) + 1);
    if (!read.ok()) return std::nullopt;
    if (read.value() == TraceLine::header) {
      auto created = EngineComparison::create(
          reader.header(), policies, [&reader](RequestId id) { return reader.name_of(id); });
      if (!created.ok()) return std::nullopt;
      comparison.emplace(std::move(created).value());
    }
    if (read.value() != TraceLine::step || !comparison) continue;
    const ForeignStep& step = reader.step();
    if (step.step > last) break;
    left_ -= static_cast<std::int64_t>(step.num_scheduled_tokens.size()) + 1;
    if (left_ < 0) return std::nullopt;
    comparison->compare(step);
    if (comparison->first_difference()) return step.step;
  }
  return kNowhere;
}

std::vector<TraceCauses::Candidate> TraceCauses::with_each_bug(const KeptTrace& trace,
                                                               std::int64_t last) {
  std::vector<Candidate> candidates;
  for (const KnownBug& bug : known_bug_table()) {
    const KnownBug* const one = &bug;
    const auto at = first_difference(
        trace, policies_with(EngineProfile::safe, runner_, policies_of(std::span(&one, 1))), last);
    if (at) candidates.push_back({one, *at});
  }
  return candidates;
}

std::vector<TraceCauses::Candidate> TraceCauses::without_each_bug(const KeptTrace& trace,
                                                                  const EngineProfile& release,
                                                                  std::int64_t last) {
  std::vector<Candidate> candidates;
  for (const KnownBug* bug : bugs_of(release, runner_)) {
    const PolicyOverrides without = without_cause({}, policies_of(std::span(&bug, 1)));
    const auto at = first_difference(trace, policies_with(release, runner_, without), last);
    if (at) candidates.push_back({bug, *at});
  }
  return candidates;
}

std::vector<const KnownBug*> TraceCauses::differing_at(std::span<const Candidate> candidates,
                                                       std::int64_t step) {
  std::vector<const KnownBug*> bugs;
  for (const Candidate& candidate : candidates)
    if (candidate.differs_at == step) bugs.push_back(candidate.bug);
  return bugs;
}

std::vector<const KnownBug*> TraceCauses::longest_agreeing(std::span<const Candidate> candidates,
                                                           std::int64_t step) {
  std::int64_t longest = step + 1;
  for (const Candidate& candidate : candidates) longest = std::max(longest, candidate.differs_at);
  return differing_at(candidates, longest);
}

std::vector<const KnownBug*> TraceCauses::last_differing(std::span<const Candidate> candidates,
                                                         std::int64_t step) {
  std::int64_t last = 0;
  for (const Candidate& candidate : candidates)
    if (candidate.differs_at <= step) last = std::max(last, candidate.differs_at);
  return differing_at(candidates, last);
}

std::vector<std::vector<const KnownBug*>> TraceCauses::find(const KeptTrace& trace,
                                                            std::span<const FindingRoot> roots) {
  std::vector<std::vector<const KnownBug*>> causes(roots.size());
  why_not_searched_.clear();
  if (roots.empty()) return causes;
  if (trace.is_too_long()) {
    why_not_searched_ = fmt::format("the trace has more than {} MiB", KeptTrace::kMostBytes >> 20);
    return causes;
  }
  const auto header = trace.lines().empty() ? std::nullopt : header_of(trace);
  if (!header) return causes;
  runner_ = header->config.runner;
  search(trace, *header, roots, causes);
  for (std::size_t i = 0; i < roots.size(); ++i)
    if (causes[i].empty()) causes[i] = of_computed_states(trace, *header, roots[i].finding);
  if (left_ < 0)
    why_not_searched_ = fmt::format("the search ends after {}", counted(kMostRows, "row"));
  return causes;
}

// In place of the decision, which the trace does not tell: the finding is gone where only states
// are stored that the scheduler made room for.
std::vector<const KnownBug*> TraceCauses::of_computed_states(const KeptTrace& trace,
                                                             const ForeignHeader& header,
                                                             const Finding& finding) {
  if (!header.computes_checkpoints) return {};
  const PolicyValue computed = header.config.policies.get<CheckpointWrites>();
  if (is_found(trace, CheckpointWrites::reserved, finding)) return {};
  std::vector<const KnownBug*> bugs;
  for (const KnownBug* bug : bugs_of(EngineProfile::vllm(*header.release), runner_))
    if (std::ranges::find(bug->values(), computed) != bug->values().end()) bugs.push_back(bug);
  return bugs;
}

bool TraceCauses::is_found(const KeptTrace& trace, CheckpointWrites writes,
                           const Finding& finding) {
  TraceReader reader("");
  std::optional<TraceJudge> judge;
  for (const std::string& line : trace.lines()) {
    const auto read = reader.read_line(std::string_view(line), 1);
    if (!read.ok()) return true;
    if (read.value() == TraceLine::header) {
      ForeignHeader header = reader.header();
      header.config.policies.set(writes);
      auto created = TraceJudge::create(header);
      if (!created.ok()) return true;
      judge.emplace(std::move(created).value());
    }
    if (read.value() != TraceLine::step || !judge) continue;
    left_ -= static_cast<std::int64_t>(reader.step().num_scheduled_tokens.size()) + 1;
    const auto judged = judge->judge(reader.step(), CheckScope::step);
    if (!judged.ok() || left_ < 0) return true;
    if (reader.step().step < finding.step) continue;
    return std::ranges::any_of(judged.value().findings, [&](const Finding& other) {
      return other.rule == finding.rule && other.request == finding.request &&
             other.group == finding.group && other.block == finding.block;
    });
  }
  return true;
}

void TraceCauses::search(const KeptTrace& trace, const ForeignHeader& header,
                         std::span<const FindingRoot> roots,
                         std::span<std::vector<const KnownBug*>> causes) {
  const std::int64_t last =
      std::ranges::max(roots, {}, &FindingRoot::last_step).last_step + kStepsBehind;
  const auto safe = first_difference(trace, policies_with(EngineProfile::safe, runner_, {}), last);
  if (!safe || *safe == kNowhere) return;
  const std::vector<Candidate> with = with_each_bug(trace, last);
  std::vector<Candidate> without;
  if (header.release) {
    const EngineProfile release = EngineProfile::vllm(*header.release);
    const auto differs = first_difference(trace, policies_with(release, runner_, {}), last);
    if (differs && *differs == kNowhere) without = without_each_bug(trace, release, last);
  }
  for (std::size_t i = 0; i < roots.size() && left_ >= 0; ++i) {
    const std::int64_t step = roots[i].finding.step;
    if (*safe <= roots[i].last_step) causes[i] = longest_agreeing(with, step);
    if (causes[i].empty()) causes[i] = last_differing(without, step);
    keep_fewest_policies(causes[i]);
  }
}

}  // namespace hybridscope
