// One told step under comparison: what every comparison needs to say where a difference is.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>

#include "core/engine/engine_config.h"
#include "sessions/judge/engine_difference.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

using RequestName = std::function<std::string(RequestId)>;

struct ComparedStep {
  const ForeignStep& told;
  const EngineConfig& config;  // ours, with the profile's policies
  const RequestName& name_of;

  // Without expected and told.
  EngineDifference difference(EngineDecision decision) const {
    return {.step = told.step,
            .line = told.line,
            .decision = decision,
            .rule = std::string(engine_decision_row(decision).rule)};
  }
  EngineDifference difference(EngineDecision decision, RequestId request) const {
    EngineDifference found = difference(decision);
    found.request = name_of(request);
    return found;
  }
};

// Empty where the two agree.
using MaybeDifference = std::optional<EngineDifference>;

// The difference of two numbers or names, if they differ.
template <class T>
MaybeDifference compare_values(EngineDifference place, const T& expected, const T& told) {
  if (expected == told) return std::nullopt;
  place.expected = fmt::format("{}", expected);
  place.told = fmt::format("{}", told);
  return place;
}

// Block lists column by column; `place` has the group already.
MaybeDifference compare_blocks(const EngineDifference& place,
                               std::span<const std::int32_t> expected,
                               std::span<const std::int32_t> told);

}  // namespace hybridscope
