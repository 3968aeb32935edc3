#include "sessions/diff/request_totals.h"

#include <algorithm>
#include <set>

namespace hybridscope {
namespace {

// Adds up the steps. Requests are kept by id while they are read.
class Totals {
 public:
  explicit Totals(const StepSource& source) : source_(source) {}

  void add_counts(const StepCounts& counts, std::int64_t step) {
    RequestTotals& all = totals_.all;
    all.num_prompt_tokens += counts.num_prompt_tokens;
    all.num_hit_tokens += counts.num_hit_tokens;
    all.num_output_tokens += counts.num_output_tokens;
    all.num_preemptions += counts.num_preempted;
    all.num_steps += counts.num_reqs;
    all.num_state_copies += counts.num_state_copies;
    all.steps_until_finished = step;
    totals_.num_finished += counts.num_finished;
  }

  void add_findings(const StepRecord& record) {
    for (const Finding& finding : record.findings) {
      ++totals_.all.findings[finding.rule];
      if (finding.request.value >= 0 && source_.level() != RecordLevel::counts)
        ++of(finding.request, record.trace.step).findings[finding.rule];
    }
  }

  void add_step(const StepTrace& trace) {
    for (const CommandTrace& command : trace.commands)
      if (command.command == CommandKind::add_request) of(command.request, trace.step);
    for (const ScheduledTrace& scheduled : trace.scheduled) {
      RequestTotals& request = of(scheduled.request, trace.step);
      ++request.num_steps;
      request.num_prompt_tokens = scheduled.num_prompt_tokens;
      request.num_hit_tokens += scheduled.num_hit_tokens;
    }
    for (const RequestId preempted : trace.preempted) ++of(preempted, trace.step).num_preemptions;
    for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
      for (const StateCopyTrace& copy : launch->copies)
        ++of(launch->decisions[static_cast<std::size_t>(copy.decision)].request, trace.step)
              .num_state_copies;
    for (const CommitTrace& commit : trace.committed) {
      RequestTotals& request = of(commit.request, trace.step);
      request.num_output_tokens += commit.num_appended_tokens;
      if (commit.finished) request.steps_until_finished = trace.step - request.arrived + 1;
    }
  }

  SessionTotals take() {
    for (std::size_t id = 0; id < by_id_.size(); ++id)
      if (by_id_[id].arrived > 0)
        totals_.requests.emplace(source_.request_name(RequestId{static_cast<std::int32_t>(id)}),
                                 std::move(by_id_[id]));
    return std::move(totals_);
  }

 private:
  RequestTotals& of(RequestId request, std::int64_t step) {
    const auto id = static_cast<std::size_t>(request.value);
    if (id >= by_id_.size()) by_id_.resize(id + 1);
    if (by_id_[id].arrived == 0) by_id_[id].arrived = step;
    return by_id_[id];
  }

  const StepSource& source_;
  std::vector<RequestTotals> by_id_;
  SessionTotals totals_;
};

void compare_one(const std::string& request, const RequestTotals& a, const RequestTotals& b,
                 std::vector<TotalDifference>& found) {
  std::vector<std::int64_t> values;
  for_each_total_field(a, [&](std::string_view, std::int64_t value) { values.push_back(value); });
  std::size_t field = 0;
  for_each_total_field(b, [&](std::string_view name, std::int64_t value) {
    const bool last_step = request.empty() && name == "steps_until_finished";
    if (values[field] != value)
      found.push_back({request, last_step ? "last_step" : std::string(name), values[field], value});
    ++field;
  });
  std::set<Rule> rules;
  for (const auto* side : {&a, &b})
    for (const auto& [rule, count] : side->findings) rules.insert(rule);
  const auto count = [](const RequestTotals& totals, Rule rule) {
    const auto place = totals.findings.find(rule);
    return place == totals.findings.end() ? std::int64_t{0} : place->second;
  };
  for (const Rule rule : rules)
    if (count(a, rule) != count(b, rule))
      found.push_back({request, "findings." + std::string(rule_info(rule).slug), count(a, rule),
                       count(b, rule)});
}

}  // namespace

Result<SessionTotals> total_session(StepSource& source) {
  Totals totals(source);
  while (true) {
    const auto stamp = source.next();
    if (!stamp.ok()) return stamp.error();
    if (stamp.value() == nullptr) return totals.take();
    totals.add_counts(stamp.value()->counts, stamp.value()->step);
    const bool has_findings =
        stamp.value()->counts.num_errors + stamp.value()->counts.num_warnings > 0;
    if (source.level() == RecordLevel::counts && !has_findings) continue;
    const auto record = source.record();
    if (!record.ok()) return record.error();
    if (source.level() != RecordLevel::counts) totals.add_step(record.value()->trace);
    totals.add_findings(*record.value());
  }
}

std::vector<TotalDifference> compare_totals(const SessionTotals& a, const SessionTotals& b) {
  std::vector<TotalDifference> found;
  compare_one("", a.all, b.all, found);
  if (a.num_finished != b.num_finished)
    found.push_back({"", "num_finished", a.num_finished, b.num_finished});
  if (a.requests.empty() || b.requests.empty()) return found;
  for (const auto& [name, totals] : a.requests) {
    const auto other = b.requests.find(name);
    if (other == b.requests.end())
      found.push_back({name, "present", 1, 0});
    else
      compare_one(name, totals, other->second, found);
  }
  for (const auto& [name, totals] : b.requests)
    if (!a.requests.contains(name)) found.push_back({name, "present", 0, 1});
  return found;
}

}  // namespace hybridscope
