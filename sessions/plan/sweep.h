// Which settings a plan tries: axes such as "max_num_seqs=64..512", and their combinations
// (docs/plan.md, Sweeps).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {

struct SweepAxis {
  const Setting* setting = nullptr;
  std::vector<std::string> values;  // as a command line gives them; see parse_sweep
};

// "NAME=VALUE,VALUE,...". A name is one that setting_called takes. A value is what the option of
// the setting takes (mode none also turns prefix caching off), "2x" (integers: times the block size
// of the combination), or a range of integers: "0..3" counts up by 1 and, with more than 17 numbers
// from above 0, by doubling ("64..500" is 64, 128, 256, 500); "0..8+2" and "1..64*4" say how. Its
// last number is always one.
// Values that come twice, also in another spelling (4GiB, 4096MiB), are taken once. Error:
// invalid_input that says what was found and what is allowed.
Result<SweepAxis> parse_sweep(std::string_view text);
// The axes that the texts name, one each. Error: that of the first text that names none.
Result<std::vector<SweepAxis>> parse_axes(std::span<const std::string> texts);

// The settings without those of the axes.
EngineSettings without_swept(const EngineSettings& settings, std::span<const SweepAxis> axes);

// More combinations than this are refused.
inline constexpr std::int64_t kMostCombinations = 1'000'000;

// One combination.
struct PlanCase {
  std::vector<std::int32_t> values;  // [axes] index into SweepAxis::values
  std::string name;  // "mamba_cache_mode=align max_num_seqs=64"; "as given" without axes
  friend bool operator==(const PlanCase&, const PlanCase&) = default;
};

// All combinations of axes on top of settings that are the same in all of them. The last axis
// changes fastest. In a swept mode none, prefix caching is off and settings of what it keeps are
// not set: of combinations that differ in these alone there is the one with their first values.
class Sweep {
 public:
  // Error: an axis twice, an axis for a setting that `base` sets, too many combinations.
  static Result<Sweep> create(EngineSettings base, std::vector<SweepAxis> axes);

  std::int64_t size() const { return distinct_.empty() ? num_all_ : std::ssize(distinct_); }
  // Further combinations that equal one of them.
  std::int64_t num_equal() const { return num_all_ - size(); }
  const std::vector<SweepAxis>& axes() const { return axes_; }
  // Requires: 0 <= index < size().
  PlanCase at(std::int64_t index) const;
  // The index of the combination with these values, or of the one that it equals.
  std::int64_t index_of(const PlanCase& of) const;
  // The combination of this name; empty: there is none.
  std::optional<PlanCase> called(std::string_view name) const;

  // The settings of a combination for `model` (a preset or a config.json). Error: values that
  // contradict each other, or sizes that the model does not allow.
  Result<EngineSettings> settings(const PlanCase& of, const std::string& model) const;
  Result<EngineSettings> settings(const PlanCase& of, const ModelSpec& model) const;
  // How many of its values change how the engine starts, each set by itself.
  std::int64_t num_changes(const PlanCase& of, const std::string& model) const;

 private:
  template <class Model>
  Result<EngineSettings> settings_with(const PlanCase& of, const Model& model) const;
  Sweep(EngineSettings base, std::vector<SweepAxis> axes);
  std::string name_of(const std::vector<std::int32_t>& values) const;
  bool sweeps(std::string_view path) const;
  std::vector<std::int32_t> values_at(std::int64_t number) const;
  std::int64_t number_of(const std::vector<std::int32_t>& values) const;
  // The values of the combination that stands for the one with `values`.
  std::vector<std::int32_t> standing_for(std::vector<std::int32_t> values) const;
  void find_distinct();

  EngineSettings base_;
  std::vector<SweepAxis> axes_;
  std::int64_t num_all_ = 1;            // of values of the axes
  std::vector<std::int64_t> distinct_;  // [size()] their numbers; empty: all are distinct
};

}  // namespace hybridscope
