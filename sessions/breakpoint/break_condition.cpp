#include "sessions/breakpoint/break_condition.h"

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

}  // namespace hybridscope
