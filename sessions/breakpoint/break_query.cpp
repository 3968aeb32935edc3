#include "sessions/breakpoint/break_query.h"

#include <set>
#include <utility>

#include "sessions/breakpoint/break_evaluator.h"
#include "sessions/breakpoint/break_parser.h"

namespace hybridscope {

struct BreakQuery::Impl {
  BreakFieldPlace place;
  BreakEvaluator where;
};

Result<BreakQuery> BreakQuery::parse(std::string_view field, std::string_view where) {
  const auto place = parse_break_field(field, break_kinds());
  if (!place.ok()) return place.error();
  auto evaluator = BreakEvaluator::create(where, place.value().kind);
  if (!evaluator.ok()) return evaluator.error();
  return BreakQuery(std::make_unique<Impl>(Impl{place.value(), std::move(evaluator).value()}));
}

BreakQuery::BreakQuery(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BreakQuery::BreakQuery(BreakQuery&&) noexcept = default;
BreakQuery& BreakQuery::operator=(BreakQuery&&) noexcept = default;
BreakQuery::~BreakQuery() = default;

const BreakField& BreakQuery::field() const {
  return impl_->where.kind(impl_->place.kind).fields[static_cast<std::size_t>(impl_->place.field)];
}

bool BreakQuery::reads_writes() const { return impl_->where.reads_writes(); }

std::vector<std::int64_t> BreakQuery::values(const BreakStep& step, const RequestName& name) {
  std::set<std::int64_t> values;
  impl_->where.pick_each(step, name, [&](const BreakElement& element) {
    values.insert(element.values[static_cast<std::size_t>(impl_->place.field)]);
  });
  return {values.begin(), values.end()};
}

}  // namespace hybridscope
