#include "sessions/matrix/matrix_cell.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/result.h"
#include "core/engine/scheduler_setup.h"
#include "sessions/matrix/random_scenario.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/text/json_value.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

using Name = std::string_view;

constexpr std::array<Name, 3> kModes = {"none", "align", "all"};
constexpr std::array kModeValues = {MambaCacheMode::none, MambaCacheMode::align,
                                    MambaCacheMode::all};
constexpr std::array<Name, 5> kSpeculations = {"none", "mtp1", "mtp2", "mtp3", "ngram"};
constexpr std::array<Name, 2> kOffOn = {"off", "on"};
constexpr std::array<Name, 2> kLayouts = {"SD", "DS"};
constexpr std::array<Name, 2> kRunners = {"v1", "v2"};
constexpr std::array<Name, 2> kSchedulings = {"sync", "async"};
constexpr std::array<Name, 5> kGraphs = {"none", "piecewise", "full", "full_decode_only",
                                         "full_and_piecewise"};
constexpr std::array kGraphValues = {CUDAGraphMode::none, CUDAGraphMode::piecewise,
                                     CUDAGraphMode::full, CUDAGraphMode::full_decode_only,
                                     CUDAGraphMode::full_and_piecewise};
constexpr std::array<Name, 4> kPressures = {"none", "budget", "preemption", "reset"};
constexpr std::array<Name, 3> kRetentions = {"dense", "0", "2B"};
constexpr std::array<Name, 2> kMatchUnits = {"block", "finer"};
constexpr std::array<Name, 2> kCheckpoints = {"none", "in_prefills"};

constexpr std::array<AxisInfo, kNumAxes> kAxes = {{
    {Axis::mode, "mode", "mamba_cache_mode", kModes},
    {Axis::speculation, "speculation", "method and num_speculative_tokens (ngram: up to 3)",
     kSpeculations},
    {Axis::prefix_caching, "prefix_caching", "enable_prefix_caching", kOffOn},
    {Axis::layout, "layout", "ssm_conv_state_layout", kLayouts},
    {Axis::runner, "runner", "model runner", kRunners},
    {Axis::scheduling, "scheduling", "async_scheduling", kSchedulings},
    {Axis::graphs, "graphs", "cudagraph_mode", kGraphs},
    {Axis::pressure, "pressure", "what the scenarios press on", kPressures},
    {Axis::retention, "retention",
     "prefix_cache_retention_interval (dense: not set; 2B: two blocks)", kRetentions},
    {Axis::match_unit, "match_unit", "prefix_match_unit (finer: a divisor of the block size)",
     kMatchUnits},
    {Axis::checkpoints, "checkpoints",
     "layers that store states inside a prefill (in_prefills: those of Mamba2)", kCheckpoints},
}};

constexpr std::int32_t kMaxNgramTokens = 3;

std::vector<Name> names_of(std::span<const Name> values) { return {values.begin(), values.end()}; }

// Error: the axis has no such value.
Result<std::uint8_t> value_index(const AxisInfo& axis, Name value) {
  const auto found = std::ranges::find(axis.values, value);
  if (found != axis.values.end()) return static_cast<std::uint8_t>(found - axis.values.begin());
  return invalid_input(
      fmt::format("axis {} has no value {}{} (expected {})", axis.name, quoted_text(value),
                  nearest_key_hint(value, names_of(axis.values)), fmt::join(axis.values, ", ")));
}

Result<EngineSetup> smallest_engine(const MatrixCell& cell) {
  EngineSettings settings = cell_settings(cell);
  settings.block_size = kSmallestRandomBlock;
  settings.num_gpu_blocks_override = 256;
  return make_engine_setup("tiny-mamba2", settings);
}

// The value of the graphs axis that the engine ends up with; the requested one if it does not
// start.
std::uint8_t graphs_left(const MatrixCell& cell) {
  const std::uint8_t asked = cell.index(Axis::graphs);
  const auto setup = smallest_engine(cell);
  if (!setup.ok()) return asked;
  const auto graphs = resolve_cudagraphs(setup.value().config);
  if (!graphs.ok()) return asked;
  const auto left = std::ranges::find(kGraphValues, graphs.value().cudagraph_mode);
  HS_EXPECT(left != kGraphValues.end());
  return static_cast<std::uint8_t>(left - kGraphValues.begin());
}

}  // namespace

std::span<const AxisInfo> axis_table() { return kAxes; }
const AxisInfo& axis_info(Axis axis) { return kAxes[static_cast<std::size_t>(axis)]; }

MambaCacheMode MatrixCell::mamba_cache_mode() const { return kModeValues[index(Axis::mode)]; }

SpeculativeMethod MatrixCell::speculative_method() const {
  const std::uint8_t at = index(Axis::speculation);
  if (at == 0) return SpeculativeMethod::none;
  return at == 4 ? SpeculativeMethod::ngram : SpeculativeMethod::mtp;
}

std::int32_t MatrixCell::num_speculative_tokens() const {
  const std::uint8_t at = index(Axis::speculation);
  return at == 4 ? kMaxNgramTokens : at;
}

bool MatrixCell::enable_prefix_caching() const { return index(Axis::prefix_caching) == 1; }
ConvStateLayout MatrixCell::layout() const {
  return index(Axis::layout) == 0 ? ConvStateLayout::SD : ConvStateLayout::DS;
}
ModelRunner MatrixCell::runner() const {
  return index(Axis::runner) == 0 ? ModelRunner::v1 : ModelRunner::v2;
}
bool MatrixCell::async_scheduling() const { return index(Axis::scheduling) == 1; }
CUDAGraphMode MatrixCell::cudagraph_mode() const { return kGraphValues[index(Axis::graphs)]; }
Pressure MatrixCell::pressure() const { return static_cast<Pressure>(index(Axis::pressure)); }
Retention MatrixCell::retention() const { return static_cast<Retention>(index(Axis::retention)); }
MatchUnit MatrixCell::match_unit() const { return static_cast<MatchUnit>(index(Axis::match_unit)); }
Checkpoints MatrixCell::checkpoints() const {
  return static_cast<Checkpoints>(index(Axis::checkpoints));
}

std::size_t num_cells() {
  std::size_t count = 1;
  for (const AxisInfo& axis : kAxes) count *= axis.values.size();
  return count;
}

std::vector<MatrixCell> all_cells() {
  std::vector<MatrixCell> cells(num_cells());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::size_t rest = i;
    for (std::size_t axis = kNumAxes; axis-- > 0;) {
      const std::size_t size = kAxes[axis].values.size();
      cells[i].values[axis] = static_cast<std::uint8_t>(rest % size);
      rest /= size;
    }
  }
  return cells;
}

std::string cell_name(const MatrixCell& cell) {
  std::string name;
  for (const AxisInfo& axis : kAxes)
    name += fmt::format("{}{}", name.empty() ? "" : "/", cell.value(axis.axis));
  return name;
}

Result<MatrixCell> parse_cell(std::string_view name) {
  const std::vector<Name> parts = split_text(name, '/');
  if (parts.size() != kNumAxes)
    return invalid_input(fmt::format("{} is not a cell: {} values, expected {}, one an axis",
                                     quoted_text(name), parts.size(), kNumAxes));
  MatrixCell cell;
  for (std::size_t i = 0; i < kNumAxes; ++i) {
    const auto index = value_index(kAxes[i], parts[i]);
    if (!index.ok()) return index.error();
    cell.values[i] = index.value();
  }
  return cell;
}

EngineSettings cell_settings(const MatrixCell& cell) {
  EngineSettings settings;
  settings.mamba_cache_mode = cell.mamba_cache_mode();
  settings.enable_prefix_caching = cell.enable_prefix_caching();
  settings.ssm_conv_state_layout = cell.layout();
  settings.runner = cell.runner();
  settings.async_scheduling = cell.async_scheduling();
  settings.cudagraph_mode = cell.cudagraph_mode();
  if (cell.num_speculative_tokens() > 0) {
    settings.speculative_method = cell.speculative_method();
    settings.num_speculative_tokens = cell.num_speculative_tokens();
  }
  return settings;
}

namespace {

// The cell with the first value of every setting that changes nothing there.
MatrixCell without_idle_settings(const MatrixCell& cell) {
  MatrixCell other = cell;
  if (cell.mamba_cache_mode() == MambaCacheMode::none || !cell.enable_prefix_caching()) {
    other.values[static_cast<std::size_t>(Axis::mode)] = 0;
    other.values[static_cast<std::size_t>(Axis::prefix_caching)] = 0;
    other.values[static_cast<std::size_t>(Axis::retention)] = 0;
  }
  if (other.mamba_cache_mode() != MambaCacheMode::align) {
    other.values[static_cast<std::size_t>(Axis::match_unit)] = 0;
    other.values[static_cast<std::size_t>(Axis::checkpoints)] = 0;
  }
  return other;
}

}  // namespace

std::optional<MatrixCell> stands_for(const MatrixCell& cell) {
  MatrixCell other = without_idle_settings(cell);
  other.values[static_cast<std::size_t>(Axis::graphs)] = graphs_left(other);
  if (other == cell) return std::nullopt;
  return other;
}

std::string refusal_of(const MatrixCell& cell) {
  const auto setup = smallest_engine(cell);
  return setup.ok() ? std::string() : setup.error().message;
}

// Most cells are told apart without an engine, which the other two tests make.
bool is_run(const MatrixCell& cell) {
  return without_idle_settings(cell) == cell && !stands_for(cell) && refusal_of(cell).empty();
}

Status CellFilter::add(std::string_view text) {
  const std::size_t equals = text.find('=');
  const Name name = text.substr(0, equals);
  const auto axis = std::ranges::find(kAxes, name, &AxisInfo::name);
  if (axis == kAxes.end()) {
    std::vector<Name> known;
    for (const AxisInfo& one : kAxes) known.push_back(one.name);
    return invalid_input(
        fmt::format("there is no axis {}{} (expected AXIS=VALUE,... with AXIS one of {})",
                    quoted_text(name), nearest_key_hint(name, known), fmt::join(known, ", ")));
  }
  if (equals == Name::npos)
    return invalid_input(fmt::format("{} names no value (expected {}=VALUE,... of {})",
                                     quoted_text(text), axis->name, fmt::join(axis->values, ", ")));
  for (const Name value : split_text(text.substr(equals + 1), ',')) {
    const auto index = value_index(*axis, value);
    if (!index.ok()) return index.error();
    taken_[static_cast<std::size_t>(axis->axis)] |= 1U << index.value();
  }
  return Ok{};
}

bool CellFilter::takes(const MatrixCell& cell) const {
  for (std::size_t i = 0; i < kNumAxes; ++i)
    if (taken_[i] != 0 && (taken_[i] >> cell.values[i] & 1U) == 0) return false;
  return true;
}

std::string CellFilter::text() const {
  std::string text;
  for (std::size_t i = 0; i < kNumAxes; ++i) {
    if (taken_[i] == 0) continue;
    std::string values;
    for (std::size_t v = 0; v < kAxes[i].values.size(); ++v)
      if (taken_[i] >> v & 1U)
        values += fmt::format("{}{}", values.empty() ? "" : ",", kAxes[i].values[v]);
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", kAxes[i].name, values);
  }
  return text;
}

}  // namespace hybridscope
