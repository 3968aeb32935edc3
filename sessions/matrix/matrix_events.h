// The events that must happen in a cell before it counts as tested, and how they are counted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/policy_set.h"
#include "core/trace/step_trace.h"
#include "sessions/matrix/matrix_cell.h"

namespace hybridscope {

enum class MatrixEvent : std::uint8_t {
  pre_copy,
  post_copy,
  same_block_shift,
  bias,
  hit,
  no_draft_step,
  padded_row,
  row_move,
  preemption,
  skipped_step,
  frame_rolled_back,
  cache_reset,
  checkpoint,
  block_copy,
};
inline constexpr std::size_t kNumMatrixEvents = 14;

struct MatrixEventInfo {
  MatrixEvent event{};
  std::string_view name{};
  std::string_view meaning{};
  // Must the event happen in this cell, under these policies, for the cell to count as tested?
  bool (*belongs_to)(const MatrixCell& cell, const PolicySet& policies) = nullptr;
  // How often the event happened in one step.
  std::int64_t (*count)(const StepTrace& trace, const EngineConfig& config) = nullptr;
};

// In the order of the enum.
std::span<const MatrixEventInfo> matrix_event_table();

// How often an event happened, and in how many scenarios.
struct EventCount {
  std::int64_t times = 0;
  std::int64_t scenarios = 0;
  friend bool operator==(const EventCount&, const EventCount&) = default;
};
using EventCounts = std::array<EventCount, kNumMatrixEvents>;

// Counts the events of one scenario, step by step.
class EventCounter {
 public:
  void add(const StepTrace& trace, const EngineConfig& config);
  void add_to(EventCounts& counts) const;

 private:
  std::array<std::int64_t, kNumMatrixEvents> times_ = {};
};

}  // namespace hybridscope
