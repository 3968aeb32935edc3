// The user's choices in each panel; part of the workbench, changed by commands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace hybridscope {

// Whose block tables.
enum class TableSide : std::uint8_t { scheduler, worker };

struct BlockTablesOptions {
  TableSide side = TableSide::scheduler;
  std::int32_t cell_size = 0;  // pixels at scale 1, kReadableCells or kAllCells
};

// Cells with their numbers, larger where there is room; the panel scrolls if they do not fit.
inline constexpr std::int32_t kReadableCells = 0;
// All cells of all tables at once. If rows would then be very low, each table fits the panel
// by itself, and the panel scrolls from one to the next.
inline constexpr std::int32_t kAllCells = -1;

// The next larger or smaller size of a cell: about a quarter more or less, at least by one pixel.
inline constexpr std::int32_t kLeastCellSize = 2;
inline constexpr std::int32_t kMostCellSize = 100;
constexpr std::int32_t larger_cell(std::int32_t size) {
  return std::clamp(size * 5 / 4 + 1, kLeastCellSize, kMostCellSize);
}
constexpr std::int32_t smaller_cell(std::int32_t size) {
  return std::clamp(std::min(size * 4 / 5, size - 1), kLeastCellSize, kMostCellSize);
}

// The array that is shown in full; empty: none.
struct MetadataOptions {
  std::int32_t group = -1;  // -1: of the whole batch
  std::string array;
};

// What requests are sorted by.
enum class RequestColumn : std::uint8_t {
  name,  // the order in which they came
  state,
  prompt,
  computed,
  scheduled,
  generated,
  hit,
  blocks,
  preemptions,
  accepted,
};
inline constexpr std::size_t kNumRequestColumns = 10;

struct RequestsOptions {
  RequestColumn sort = RequestColumn::name;
  bool descending = false;
};

inline constexpr std::int32_t kMostTimelineSteps = 120;
struct TimelineOptions {
  std::int32_t num_steps = 21;  // around the shown step
};

// The differences that are listed, and visited with F8 and F7: those that contain the text
// (ignoring case); empty: all.
struct DifferencesOptions {
  std::string filter;
};

// The known bugs that are listed: those that contain the text (ignoring case); empty: all.
struct KnownBugsOptions {
  std::string filter;
};

// What the panel Text shows of the selected request.
struct TextOptions {
  std::int32_t token = 0;  // generated token, from 1, whose probabilities are shown; 0: the last
};

// What combinations of a plan are sorted by.
struct PlanOptions {
  std::string sort = "rank";  // or the name of a column
  bool descending = false;
};

struct PanelOptions {
  BlockTablesOptions block_tables;
  MetadataOptions metadata;
  RequestsOptions requests;
  TimelineOptions timeline;
  DifferencesOptions differences;
  KnownBugsOptions known_bugs;
  TextOptions text;
  PlanOptions plan;
};

}  // namespace hybridscope
