#include "sessions/judge/foreign_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>

namespace hybridscope {

void ForeignStep::clear() {
  std::vector<std::int32_t> kept_ids = std::move(ids);
  std::vector<IdRange> kept_lists = std::move(lists);
  *this = {};
  ids = std::move(kept_ids);
  lists = std::move(kept_lists);
  ids.clear();
  lists.clear();
}

namespace {

// Replaces the traced fields; stops at the first error.
class Overlay {
 public:
  Overlay(const ForeignStep& step, const ForeignMetadata& traced, MambaCacheMode mode,
          std::vector<std::vector<std::uint8_t>>& flags)
      : step_(step), traced_(traced), mode_(mode), flags_(flags) {}

  template <class T>
  void operator()(const MetadataField& field, T& member) {
    const ForeignArray* array = find(field.name);
    if (array == nullptr && !is_left_out(field, member)) note_left_out(field.name, member);
    if (array == nullptr || error_) return;
    if constexpr (std::is_arithmetic_v<T>)
      set_number(field, *array, member);
    else
      set_view(field, *array, member);
  }

  // The programs of the conv kernels, and their pointer arrays up to the number of programs.
  void operator()(const MetadataField&, CausalConv1dMetadata& conv1d) {
    set_programs(conv1d);
    for (const auto& [name, member] :
         {std::pair{"batch_ptr", &conv1d.batch_ptr},
          std::pair{"token_chunk_offset_ptr", &conv1d.token_chunk_offset_ptr}}) {
      if (error_ || !conv1d.present) return;
      const ForeignArray* array = find(name);
      if (array == nullptr) left_out_.push_back(name);
      const std::int32_t rows = array == nullptr ? member->rows : array->rows;
      if (rows < conv1d.tot)
        fail(name, fmt::format("has {} entries, expected at least {}", rows, conv1d.tot));
      else if (array != nullptr && !array->none)
        set_view({.name = name}, *array, *member);
    }
  }

  void operator()(const MetadataField&, TokenIndxDtype&) {}  // not in traces

  const std::vector<std::string_view>& left_out() const { return left_out_; }
  Status status() const { return error_ ? Status(*error_) : Status(Ok{}); }

 private:
  template <class T>
  void note_left_out(std::string_view name, const T& member) {
    if constexpr (std::is_arithmetic_v<T>)
      left_out_.push_back(name);
    else if (member.present)
      left_out_.push_back(name);
  }

  // nums_dict, or the absence of all three.
  void set_programs(CausalConv1dMetadata& conv1d) {
    const ForeignArray* batch_ptr = find("batch_ptr");
    if (batch_ptr != nullptr && batch_ptr->none) {
      conv1d = {};
      return;
    }
    const ForeignArray* nums = find("nums_dict.8.nums");
    const ForeignArray* tot = find("nums_dict.8.tot");
    if (nums == nullptr || tot == nullptr) return;
    set_view({.name = "nums_dict.8.nums"}, *nums, conv1d.nums);
    set_number({.name = "nums_dict.8.tot", .min = 0}, *tot, conv1d.tot);
    conv1d.present = true;
  }

  const ForeignArray* find(std::string_view name) const {
    const auto found = std::ranges::find(traced_.arrays, name, &ForeignArray::name);
    return found == traced_.arrays.end() ? nullptr : &*found;
  }

  void fail(std::string_view name, const std::string& what) {
    error_ = invalid_input(fmt::format("/attn_metadata/{}/{}: {}", traced_.group, name, what));
  }

  template <class T>
  void set_number(const MetadataField& field, const ForeignArray& array, T& member) {
    if (array.none && field.listed_if_present) {
      member = static_cast<T>(-1);
      return;
    }
    if (!array.scalar || array.values.count != 1)
      return fail(field.name,
                  array.none ? "is null, expected a number" : "is an array, expected a number");
    const std::int32_t value = step_.at(array.values)[0];
    if (value < field.min)
      return fail(field.name, fmt::format("is {}, expected at least {}", value, field.min));
    member = static_cast<T>(value);
  }

  template <class T>
  void set_view(const MetadataField& field, const ForeignArray& array, TensorView<T>& member) {
    if (array.scalar) return fail(field.name, "is a number, expected an array");
    if (array.none) {
      member = {};
      return;
    }
    const std::int32_t cols = field.cols > 0   ? field.cols
                              : member.present ? member.cols
                                               : array.cols;
    const bool may_differ =
        field.elements == ArrayElements::block_ids && is_table_width(array.cols, cols, mode_);
    if (array.cols != cols && !may_differ && array.rows > 0)
      return fail(field.name, fmt::format("has {} columns, expected {}", array.cols, cols));
    member.rows = array.rows;
    member.cols = may_differ ? array.cols : cols;
    if (!member.present) member.dims = cols > 1 ? 2 : 1;
    member.present = true;
    member.data = data_of<T>(array);
  }

  template <class T>
  const T* data_of(const ForeignArray& array) {
    const std::span<const std::int32_t> values = step_.at(array.values);
    if constexpr (std::is_same_v<T, std::int32_t>) {
      return values.data();
    } else {
      flags_.emplace_back(values.size() + 1, std::uint8_t{0});
      std::ranges::transform(values, flags_.back().begin(),
                             [](std::int32_t value) { return value != 0 ? 1 : 0; });
      return flags_.back().data();
    }
  }

  const ForeignStep& step_;
  const ForeignMetadata& traced_;
  MambaCacheMode mode_;
  std::vector<std::vector<std::uint8_t>>& flags_;
  std::optional<Error> error_;
  std::vector<std::string_view> left_out_;
};

}  // namespace

bool is_table_width(std::int64_t columns, std::int64_t ours, MambaCacheMode mode) {
  return columns >= (mode == MambaCacheMode::all && ours > 1 ? ours - 1 : ours);
}

Status ForeignMetadataOverlay::lay_over(const ForeignStep& step, const ForeignMetadata& traced,
                                        MambaCacheMode mode, BuilderMetadata& metadata) {
  flags_.clear();
  flags_.reserve(4);
  Overlay overlay(step, traced, mode, flags_);
  for_each_field(metadata, overlay);
  left_out_ = overlay.left_out();
  return overlay.status();
}

}  // namespace hybridscope
