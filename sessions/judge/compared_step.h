// One traced step under comparison, with what is needed to describe a difference.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <optional>
#include <string>

#include "core/engine/engine_config.h"
#include "sessions/judge/engine_difference.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

using RequestName = std::function<std::string(RequestId)>;

struct ComparedStep {
  const ForeignStep& traced;
  const EngineConfig& config;  // of our engine, with the profile's policies
  const RequestName& name_of;

  // The difference without its `expected` and `traced`.
  EngineDifference difference(EngineDecision decision) const {
    return {.step = traced.step,
            .line = traced.line,
            .decision = decision,
            .rule = std::string(engine_decision_row(decision).rule)};
  }
  EngineDifference difference(EngineDecision decision, RequestId request) const {
    EngineDifference found = difference(decision);
    found.request = name_of(request);
    return found;
  }
};

// The first difference; empty: the two agree.
using MaybeDifference = std::optional<EngineDifference>;

// The difference between two numbers or names, if any.
template <class T>
MaybeDifference compare_values(EngineDifference place, const T& expected, const T& traced) {
  if (expected == traced) return std::nullopt;
  place.expected = fmt::format("{}", expected);
  place.traced = fmt::format("{}", traced);
  return place;
}

// Compares block lists column by column; `place` already has the group.
MaybeDifference compare_blocks(const EngineDifference& place,
                               std::span<const std::int32_t> expected,
                               std::span<const std::int32_t> traced);

}  // namespace hybridscope
