#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/metadata/metadata_builders.h"
#include "core/metadata/named_arrays.h"
#include "core/metadata/persistent_buffer.h"
#include "sessions/explain/explain_array.h"
#include "sessions/explain/explain_sections.h"

namespace hybridscope::step_sections {
namespace {

constexpr std::size_t kNameWidth = 33;
constexpr std::size_t kMostItems = 32;  // of one array

// Values of one row, runs of three or more equal ones written short, as long as items are left.
std::string row_values(std::span<const std::int64_t> values, std::size_t& items_left) {
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    if (items_left == 0) return text + fmt::format(" ({} more)", values.size() - i);
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    if (!text.empty()) text += ' ';
    // An element of a persistent buffer that no build has written.
    text += values[i] == kNeverWritten ? std::string("unset") : std::to_string(values[i]);
    if (end - i < 3) {
      ++i;
    } else {
      text += fmt::format(" x{}", end - i);
      i = end;
    }
    --items_left;
  }
  return text;
}

std::string array_values(const NamedArray& array) {
  std::size_t items_left = kMostItems;
  if (array.dims.size() < 2) {
    std::string text = row_values(array.values, items_left);
    const auto written = static_cast<std::int64_t>(array.values.size());
    if (!array.dims.empty() && written < array.dims[0])
      text += fmt::format("{}{} x{}", text.empty() ? "" : " ", array.fill, array.dims[0] - written);
    return text.empty() ? "empty" : text;
  }
  const auto columns = static_cast<std::size_t>(array.dims[1]);
  const auto rows = static_cast<std::size_t>(array.dims[0]);
  std::string text;
  for (std::size_t r = 0; r < rows; ++r) {
    if (items_left == 0) return text + fmt::format(" ({} more rows)", rows - r);
    text += text.empty() ? "[" : " [";
    text += row_values(std::span(array.values).subspan(r * columns, columns), items_left) + "]";
  }
  return text.empty() ? "empty" : text;
}

bool same_array(const NamedArray& a, const NamedArray& b) {
  return a.name == b.name && a.present == b.present && a.dims == b.dims && a.values == b.values;
}

// Numbers in one paragraph, arrays one a line, absent ones in a paragraph of their own.
void add_arrays(std::span<const NamedArray> arrays, TextPage& page) {
  std::string numbers;
  std::string absent;
  for (const NamedArray& array : arrays) {
    if (!array.present)
      absent += fmt::format("{}{}", absent.empty() ? "" : ", ", array.name);
    else if (array.dtype == ArrayDtype::host_int || array.dtype == ArrayDtype::host_bool)
      numbers += fmt::format("{}{} {}", numbers.empty() ? "" : ", ", array.name, array.values[0]);
  }
  if (!numbers.empty()) page.item("", 0, numbers);
  for (const NamedArray& array : arrays)
    if (array.present && !array.dims.empty())
      page.item(fmt::format("  {:<{}} {:<5} {}", array.name, kNameWidth,
                            array_dtype_name(array.dtype), array_shape(array)),
                kNameWidth + 18, array_values(array));
  if (!absent.empty()) page.item("", 0, "None: " + absent);
}

// The first mamba group with the same spec: its builder got the same inputs but for block tables.
const GroupTrace* twin_of(const StepToExplain& step, const GroupTrace& group) {
  const auto& groups = step.config.kv_cache_config.groups;
  for (const GroupTrace& earlier : step.trace.groups)
    if (earlier.group < group.group && earlier.metadata &&
        groups[static_cast<std::size_t>(earlier.group)].spec ==
            groups[static_cast<std::size_t>(group.group)].spec)
      return &earlier;
  return nullptr;
}

void add_group(const StepToExplain& step, const GroupTrace& group, TextPage& page) {
  const auto& spec = std::get<MambaSpec>(
      step.config.kv_cache_config.groups[static_cast<std::size_t>(group.group)].spec);
  std::string title =
      fmt::format("{} by {}{}", step.names.group(group.group),
                  metadata_builder_row(spec.mamba_type).reference_name,
                  group.reused_metadata ? ", reused through update_block_table" : "");
  std::vector<NamedArray> arrays = named_arrays(*group.metadata);
  if (const GroupTrace* twin = twin_of(step, group)) {
    const std::vector<NamedArray> others = named_arrays(*twin->metadata);
    std::erase_if(arrays, [&](const NamedArray& array) {
      return std::ranges::any_of(others,
                                 [&](const NamedArray& other) { return same_array(array, other); });
    });
    title += fmt::format(": as {}{}", step.names.group(twin->group), arrays.empty() ? "" : " but");
  }
  page.line(title);
  add_arrays(arrays, page);
  if (!step.trace.graph.pads_metadata() || group.replayed_arrays.empty()) return;
  page.item("", 0,
            fmt::format("The replayed graph reads {}: {}", fmt::join(group.replayed_arrays, ", "),
                        replay_words(group, step.trace.step)));
}

}  // namespace

void add_metadata(const StepToExplain& step, TextPage& page) {
  const bool any = std::ranges::any_of(
      step.trace.groups, [](const GroupTrace& group) { return group.metadata.has_value(); });
  if (!any) return;
  page.heading("Metadata", "vLLM v1/attention/backends/, build and update_block_table");
  for (const GroupTrace& group : step.trace.groups)
    if (group.metadata) add_group(step, group, page);
}

}  // namespace hybridscope::step_sections
