#include "sessions/judge/judged_trace.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/check.h"

namespace hybridscope {

JudgedTrace::JudgedTrace(std::string file, CheckScope scope)
    : reader_(std::move(file)), scope_(scope), names_(numbered_names()) {}

Result<TraceLine> JudgedTrace::read(PaddedLine text, std::int64_t line) {
  line_ = line;
  return reader_.read_line(text, line);
}

Result<TraceLine> JudgedTrace::read(std::string_view text, std::int64_t line) {
  line_ = line;
  return reader_.read_line(text, line);
}

Status JudgedTrace::begin() {
  judge_.reset();
  auto judge = TraceJudge::create(reader_.header());
  if (!judge.ok()) return at_line(judge.error());
  judge_.emplace(std::move(judge).value());
  names_ =
      make_names(reader_.header().config, [this](RequestId id) { return reader_.name_of(id); });
  return Ok{};
}

Result<JudgedStep> JudgedTrace::judge() {
  HS_EXPECT(judge_.has_value());
  auto judged = judge_->judge(reader_.step(), scope_);
  if (!judged.ok()) return at_line(judged.error());
  return judged;
}

Error JudgedTrace::at_line(const Error& error) const {
  return {error.kind, fmt::format("{}:{}: {}", file(), line_, error.message)};
}

}  // namespace hybridscope
