// Metadata field by field, as far as a trace tells them.
#include <algorithm>
#include <vector>

#include "core/metadata/metadata_builders.h"
#include "core/metadata/named_arrays.h"
#include "sessions/judge/compare_worker.h"

namespace hybridscope {
namespace {

// One told field; `ours` is our builder's.
class FieldComparison {
 public:
  FieldComparison(const ComparedStep& step, EngineDifference place, const NamedArray& ours,
                  const ForeignArray& told)
      : place_(std::move(place)), ours_(ours), told_(told), values_(step.told.at(told.values)) {
    place_.field = std::string(ours.name);
  }

  MaybeDifference compare() const {
    if (told_.none && !ours_.present) return std::nullopt;
    if (told_.none) return different(our_shape(), "None");
    if (!ours_.present) return different("None", told_.scalar ? "a number" : told_shape());
    if (is_number() != told_.scalar) return different(our_shape(), told_shape());
    if (!has_open_end() && our_shape() != told_shape()) return different(our_shape(), told_shape());
    const std::size_t size =
        has_open_end() ? std::max(ours_.values.size(), values_.size()) : values_.size();
    for (std::size_t i = 0; i < size; ++i) {
      if (our_value(i) == told_value(i)) continue;
      EngineDifference found = place_;
      if (!is_number()) found.index = static_cast<std::int64_t>(i);
      return compare_values(found, our_value(i), told_value(i));
    }
    return std::nullopt;
  }

 private:
  bool is_number() const {
    return ours_.dtype == ArrayDtype::host_int || ours_.dtype == ArrayDtype::host_bool;
  }
  // batch_ptr and token_chunk_offset_ptr are as long as some step needed; the rest is PAD_SLOT_ID.
  bool has_open_end() const { return ours_.fill != 0; }

  std::int64_t our_value(std::size_t i) const {
    return i < ours_.values.size() ? ours_.values[i] : ours_.fill;
  }
  std::int64_t told_value(std::size_t i) const {
    return i < values_.size() ? values_[i] : ours_.fill;
  }

  std::string our_shape() const {
    if (is_number()) return "a number";
    return shape(ours_.dims[0], ours_.dims.size() > 1 ? ours_.dims[1] : 1);
  }
  std::string told_shape() const {
    return told_.scalar ? "a number" : shape(told_.rows, told_.cols);
  }
  // A column is a list, and what is empty has no width: traces do not tell them apart.
  static std::string shape(std::int64_t rows, std::int64_t cols) {
    if (rows == 0 || cols == 0) return "shape [0]";
    return cols == 1 ? fmt::format("shape [{}]", rows) : fmt::format("shape [{}, {}]", rows, cols);
  }

  MaybeDifference different(std::string expected, std::string told) const {
    EngineDifference found = place_;
    found.expected = std::move(expected);
    found.told = std::move(told);
    return found;
  }

  EngineDifference place_;
  const NamedArray& ours_;
  const ForeignArray& told_;
  std::span<const std::int32_t> values_;
};

}  // namespace

MaybeDifference compare_metadata(const ComparedStep& step, const StepTrace& ours) {
  for (const ForeignMetadata& told : step.told.attn_metadata) {
    const auto group = static_cast<std::size_t>(told.group);
    if (group >= ours.groups.size() || !ours.groups[group].metadata) continue;
    EngineDifference place = step.difference(EngineDecision::attn_metadata);
    place.group = told.group;
    const auto& spec = std::get<MambaSpec>(step.config.kv_cache_config.groups[group].spec);
    place.rule = std::string(metadata_builder_row(spec.mamba_type).reference_name) + ".build";
    for (const NamedArray& field : named_arrays(*ours.groups[group].metadata)) {
      const auto array = std::ranges::find(told.arrays, field.name, &ForeignArray::name);
      if (array == told.arrays.end()) continue;
      if (auto found = FieldComparison(step, place, field, *array).compare()) return found;
    }
  }
  return std::nullopt;
}

}  // namespace hybridscope
