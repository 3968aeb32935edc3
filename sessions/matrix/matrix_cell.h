// The combinations that the matrix tries: a cell has one value of each axis.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/model/state_shape.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

enum class Axis : std::uint8_t {
  mode,
  speculation,
  prefix_caching,
  layout,
  runner,
  scheduling,
  graphs,
  pressure,
  retention,
  match_unit,
  checkpoints,
};
inline constexpr std::size_t kNumAxes = 11;

// What a cell's scenarios do to the engine besides serving requests.
enum class Pressure : std::uint8_t {
  none,        // the budget and the pool are ample
  budget,      // too few tokens per step for all requests
  preemption,  // too few blocks, and commands that preempt requests
  reset,       // commands that reset the prefix cache and abort requests
};

// Which states of a prompt stay in the prefix cache (semantics: retention).
enum class Retention : std::uint8_t {
  dense,        // no interval: every state
  interval_0,   // only those that a later request is known to need
  interval_2B,  // those and one every two blocks
};

// How many tokens a block hash covers (semantics: copy-on-write).
enum class MatchUnit : std::uint8_t {
  block,  // a whole block
  finer,  // a part of one, so that hits may end inside a block
};

// Which layers store a state in the middle of a prefill (semantics: prefill-checkpoint)?
enum class Checkpoints : std::uint8_t {
  none,         // no layers
  in_prefills,  // those of Mamba2
};

struct AxisInfo {
  Axis axis{};
  std::string_view name{};
  std::string_view meaning{};
  std::span<const std::string_view> values{};
};

// In the order of the enum; the last axis varies fastest.
std::span<const AxisInfo> axis_table();
const AxisInfo& axis_info(Axis axis);

struct MatrixCell {
  std::array<std::uint8_t, kNumAxes> values = {};  // index into AxisInfo::values, by axis

  std::uint8_t index(Axis axis) const { return values[static_cast<std::size_t>(axis)]; }
  std::string_view value(Axis axis) const { return axis_info(axis).values[index(axis)]; }

  MambaCacheMode mamba_cache_mode() const;
  SpeculativeMethod speculative_method() const;
  std::int32_t num_speculative_tokens() const;  // K; with ngram the most, a scenario may have fewer
  bool enable_prefix_caching() const;
  ConvStateLayout layout() const;
  ModelRunner runner() const;
  bool async_scheduling() const;
  CUDAGraphMode cudagraph_mode() const;
  Pressure pressure() const;
  Retention retention() const;
  MatchUnit match_unit() const;
  Checkpoints checkpoints() const;

  friend auto operator<=>(const MatrixCell&, const MatrixCell&) = default;
};

// Every combination, in the order of the axes.
std::vector<MatrixCell> all_cells();
std::size_t num_cells();

// "align/mtp2/on/SD/v1/async/full_and_piecewise/preemption/dense/block/none".
std::string cell_name(const MatrixCell& cell);
// Error: no cell has this name.
Result<MatrixCell> parse_cell(std::string_view name);

// The settings that the cell fixes; the scenarios choose the others, and the size of what retention
// and match_unit name, which depends on their block size.
EngineSettings cell_settings(const MatrixCell& cell);

// The cell that this one reduces to. Where the reference changes a setting: without prefix caching
// the mode becomes none (semantics: cache-mode-choice), mode none stands for prefix caching off,
// and the CUDA graph mode becomes what the metadata builders allow (semantics:
// resolve-cudagraph-mode; with recurrent layers full becomes full_and_piecewise). Where a setting
// changes nothing: without prefix caching there is nothing to retain or to match, and in mode align
// alone hits end inside blocks and layers store states inside prefills.
std::optional<MatrixCell> stands_for(const MatrixCell& cell);

// Why no engine starts with these settings; empty: one does.
std::string refusal_of(const MatrixCell& cell);

// Does the matrix run scenarios in this cell? Not if it is refused or reduces to another cell.
bool is_run(const MatrixCell& cell);

// Selects values of axes; an axis that is not named keeps all its values.
class CellFilter {
 public:
  // Adds "axis=value,value". Errors: no such axis or value; names the nearest.
  Status add(std::string_view text);
  bool takes(const MatrixCell& cell) const;
  // The rules as given, sorted by axis: "mode=align,all runner=v1"; empty: all cells.
  std::string text() const;

 private:
  std::array<std::uint32_t, kNumAxes> taken_ = {};  // bits by value index; 0: all
};

}  // namespace hybridscope
