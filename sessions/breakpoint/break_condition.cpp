#include "sessions/breakpoint/break_condition.h"

#include <fmt/core.h>
#include <algorithm>
#include <utility>

#include "sessions/breakpoint/break_evaluator.h"

namespace hybridscope {

struct BreakCondition::Impl {
  BreakEvaluator evaluator;
};

Result<BreakCondition> BreakCondition::parse(std::string_view text) {
  auto evaluator = BreakEvaluator::create(text);
  if (!evaluator.ok()) return evaluator.error();
  return BreakCondition(std::make_unique<Impl>(Impl{std::move(evaluator).value()}));
}

BreakCondition::BreakCondition(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BreakCondition::BreakCondition(BreakCondition&&) noexcept = default;
BreakCondition& BreakCondition::operator=(BreakCondition&&) noexcept = default;
BreakCondition::~BreakCondition() = default;

const std::string& BreakCondition::text() const { return impl_->evaluator.text(); }

bool BreakCondition::reads_writes() const { return impl_->evaluator.reads_writes(); }

std::optional<BreakHit> BreakCondition::holds(const BreakStep& step,
                                              const std::function<std::string(RequestId)>& name) {
  if (!impl_->evaluator.holds(step, name)) return std::nullopt;
  return impl_->evaluator.hit(name);
}

bool BreakOption::asks_for_help() const {
  return std::find(expressions.begin(), expressions.end(), "help") != expressions.end();
}

Result<BreakConditions> BreakConditions::make(const BreakOption& option) {
  BreakConditions breakpoints;
  breakpoints.wanted_hits_ = option.hits;
  for (const std::string& text : option.expressions) {
    auto condition = BreakCondition::parse(text);
    if (!condition.ok()) return invalid_input("--break: " + condition.error().message);
    breakpoints.conditions_.push_back(std::move(condition).value());
    breakpoints.num_hits_.push_back(0);
  }
  return breakpoints;
}

bool BreakConditions::reads_writes() const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [](const BreakCondition& condition) { return condition.reads_writes(); });
}

void BreakConditions::look_at(const BreakStep& step,
                              const std::function<std::string(RequestId)>& name) {
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const auto hit = conditions_[i].holds(step, name);
    if (!hit) continue;
    if (++num_hits_[i] == wanted_hits_ && !stopped_)
      stopped_ = BreakStop{
          .step = step.trace.step, .expression = conditions_[i].text(), .words = hit->words};
  }
}

std::string BreakConditions::describe() const {
  std::string lines;
  for (std::size_t i = 0; i < conditions_.size(); ++i)
    lines += fmt::format("--break '{}': {}\n", conditions_[i].text(),
                         num_hits_[i] == 0   ? "never held"
                         : num_hits_[i] == 1 ? "held in 1 step"
                                             : fmt::format("held in {} steps", num_hits_[i]));
  return lines;
}

}  // namespace hybridscope
