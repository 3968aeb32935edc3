#include <fmt/core.h>
#include <algorithm>
#include <array>

#include "core/metadata/builder_metadata.h"
#include "sessions/judge/step_parts.h"

namespace hybridscope {

// Reads the worker's part of a step: the rows of its batch, its state copies, its graph and its
// samples.

namespace {

// In the order of CUDAGraphMode.
constexpr std::array<std::string_view, 3> kRuntimeModes = {"NONE", "PIECEWISE", "FULL"};
constexpr std::int32_t kMaxGraphTokens = 1 << 24;
constexpr std::int32_t kMaxGraphReqs = 1 << 16;

void read_rows(const JsonValue& req_ids, StepContext& context) {
  context.requests.begin_list();
  req_ids.each_element([&](const JsonValue& element) {
    const RequestId request = scheduled_request(element, element.text(), context);
    expect_first_in_list(element, request, context);
    context.step.rows.push_back({.request = request});
  });
  for (const ForeignCount& scheduled : context.step.num_scheduled_tokens)
    if (context.requests.first_in_list(scheduled.request))
      req_ids.fail(fmt::format("request {} of num_scheduled_tokens is missing",
                               quoted_text(context.requests.name_of(scheduled.request))));
}

void read_row_counts(const JsonValue& batch, StepContext& context) {
  std::vector<ForeignRow>& rows = context.step.rows;
  const auto read = [&](std::string_view key, std::int32_t ForeignRow::*member) {
    for_each_parallel(batch, key, rows.size(), [&](std::size_t i, const JsonValue& e) {
      rows[i].*member = read_token_count(e, context);
    });
  };
  read("num_computed_tokens_cpu", &ForeignRow::num_computed_tokens_cpu);
  read("num_computed_tokens", &ForeignRow::num_computed_tokens);
  // The device's value overrides the host's copy, but runner V1 makes mode align's copies by the
  // host's, and gives the device that afterwards (vLLM v1/worker/mamba_utils.py preprocess_mamba).
  const bool host_decides = context.config.runner == ModelRunner::v1 &&
                            context.config.mamba_cache_mode == MambaCacheMode::align;
  const std::string_view first = host_decides ? "num_accepted_tokens" : "num_accepted_tokens_cpu";
  const std::string_view then = host_decides ? "num_accepted_tokens_cpu" : "num_accepted_tokens";
  read(first, &ForeignRow::num_accepted_tokens);
  read(then, &ForeignRow::num_accepted_tokens);
  read("num_accepted_tokens_after_preprocess", &ForeignRow::num_accepted_tokens_after_preprocess);
}

// V2: each row's slot.
void read_slots(const JsonValue& batch, StepContext& context) {
  const auto slots = batch.find("idx_mapping");
  if (!slots) return;
  if (context.config.runner != ModelRunner::v2)
    slots->fail("runner v1 has no slots (expected \"runner\": \"v2\" in the header)");
  std::vector<ForeignRow>& rows = context.step.rows;
  for_each_parallel(batch, "idx_mapping", rows.size(), [&](std::size_t i, const JsonValue& e) {
    rows[i].slot = e.int32({0, context.limits.max_num_seqs - 1});
  });
}

// Runner V1 has the counts on the host. With asynchronous scheduling it does not in every mode wait
// for them, so none are required.
bool host_has_counts(const EngineConfig& config) {
  return config.runner == ModelRunner::v1 && !config.async_scheduling;
}

IntegerRange mamba_columns(const StepContext& context) {
  return {0, std::max(context.limits.max_mamba_columns - 1, 0)};
}

void read_copy_of_columns(const JsonValue& value, ForeignCopy& copy, StepContext& context) {
  copy.src_block_idx = value.require("src_block_idx").int32(mamba_columns(context));
  copy.dest_block_idx = value.require("dest_block_idx").int32(mamba_columns(context));
}

void read_copy_of_blocks(const JsonValue& value, ForeignCopy& copy, StepContext& context) {
  const IntegerRange blocks{0, context.limits.num_blocks - 1};
  // A layer without one kind of state has no source for that kind.
  const auto read = [&](std::string_view key, std::int32_t& id) {
    id = value.int32_at(key, blocks).value_or(id);
  };
  read("conv_src_block_id", copy.conv_src_block_id);
  read("temporal_src_block_id", copy.temporal_src_block_id);
  if (copy.conv_src_block_id < 0 && copy.temporal_src_block_id < 0)
    value.require("conv_src_block_id");
  copy.dest_block_id = value.require("dest_block_id").int32(blocks);
}

void read_copy_group(const JsonValue& value, ForeignCopy& copy, StepContext& context) {
  const auto group = value.find("group");
  if (!group) return read_copy_of_columns(value, copy, context);
  copy.group = group->int32({0, context.limits.num_groups() - 1});
  if (!context.limits.is_mamba[static_cast<std::size_t>(copy.group)])
    group->expected("the number of a mamba group");
  read_copy_of_blocks(value, copy, context);
}

void read_sampled(const JsonValue& output, std::vector<ForeignStep::Sampled>& sampled,
                  StepContext& context) {
  std::vector<std::size_t> rows;
  context.requests.begin_list();
  output.require("req_ids").each_element([&](const JsonValue& element) {
    const RequestId request = scheduled_request(element, element.text(), context);
    expect_first_in_list(element, request, context);
    rows.push_back(static_cast<std::size_t>(context.requests.in_step(request).row));
  });
  for_each_parallel(output, "sampled_token_ids", rows.size(),
                    [&](std::size_t i, const JsonValue& e) {
                      sampled[rows[i]].token_ids = read_token_ids(e, -1, context);
                    });
}

}  // namespace

void read_input_batch(const JsonValue& value, StepContext& context) {
  const JsonValue req_ids = value.require("req_ids");
  read_rows(req_ids, context);
  if (context.limits.num_speculative_tokens > 0 && host_has_counts(context.config) &&
      !value.find("num_accepted_tokens"))
    value.require("num_accepted_tokens_cpu");
  read_slots(value, context);
  read_row_counts(value, context);
  std::vector<ForeignRow>& rows = context.step.rows;
  for_each_parallel(value, "mamba_state_idx", rows.size(), [&](std::size_t i, const JsonValue& e) {
    rows[i].mamba_state_idx = e.int32(mamba_columns(context));
  });
  for_each_parallel(value, "block_ids", rows.size(), [&](std::size_t i, const JsonValue& e) {
    rows[i].block_ids = read_optional_block_lists(e, context);
  });
}

std::vector<ForeignCopy> read_copies(const JsonValue& value, StepContext& context) {
  std::vector<ForeignCopy> copies;
  value.each_element([&](const JsonValue& element) {
    ForeignCopy copy{.request = live_request(element.require("req_id"), context)};
    read_copy_group(element, copy, context);
    if (const auto bias = element.find("accept_token_bias"))
      copy.accept_token_bias = read_token_count(*bias, context);
    copies.push_back(copy);
  });
  return copies;
}

ForeignGraph read_cudagraph(const JsonValue& value) {
  ForeignGraph graph;
  graph.cudagraph_runtime_mode =
      static_cast<CUDAGraphMode>(value.require("cudagraph_runtime_mode").choice(kRuntimeModes));
  const bool full = graph.cudagraph_runtime_mode == CUDAGraphMode::full;
  const auto padded = [&](std::string_view key, std::int32_t most, std::int32_t& count) {
    const auto member = value.find(key);
    if (full)
      count = value.require(key).int32({1, most});
    else if (member && !member->is_null())
      count = member->int32({0, most});
  };
  padded("num_tokens", kMaxGraphTokens, graph.num_tokens);
  padded("num_reqs", kMaxGraphReqs, graph.num_reqs);
  graph.uniform = value.boolean_at("uniform");
  return graph;
}

void read_model_runner_output(const JsonValue& value, StepContext& context) {
  for (const std::string_view key : {"req_ids", "sampled_token_ids"}) value.require(key);
  std::vector<ForeignStep::Sampled>& sampled = context.step.sampled_token_ids.emplace();
  for (const ForeignCount& scheduled : context.step.num_scheduled_tokens)
    sampled.push_back({.request = scheduled.request, .token_ids = {}});
  read_sampled(value, sampled, context);
}

// Reads attn_metadata: the fields of a builder's metadata class, by name.

namespace {

// The rows and columns of a traced array; a plain number is 1 x 1.
struct Shape {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};

// A 32-bit number, or a boolean as 0 or 1.
void push_value(const JsonValue& value, StepContext& context) {
  const std::optional<std::int64_t> number = value.whole();
  if (number && *number >= INT32_MIN && *number <= INT32_MAX)
    context.step.ids.push_back(static_cast<std::int32_t>(*number));
  else if (value.is_boolean())
    context.step.ids.push_back(value.boolean() ? 1 : 0);
  else
    value.expected("a number of 32 bits, true or false");
}

void push_values(const JsonValue& list, StepContext& context) {
  if (list.try_append_int32s(kAnyInt32, context.step.ids)) return;
  list.each_element([&](const JsonValue& value) { push_value(value, context); });
}

// [values] or [[values], ...] with rows of equal length.
Shape read_list(const JsonValue& value, StepContext& context) {
  Shape shape{.rows = 0, .cols = 1};
  const std::size_t first = context.step.ids.size();
  if (!value.is_array()) value.expected("an array");
  if (value.size() == 0) return shape;
  if (!value[std::size_t{0}].is_array()) {
    push_values(value, context);
    shape.rows = static_cast<std::int64_t>(context.step.ids.size() - first);
    return shape;
  }
  value.each_element([&](const JsonValue& row) {
    const std::size_t before = context.step.ids.size();
    push_values(row, context);
    const auto cols = static_cast<std::int64_t>(context.step.ids.size() - before);
    if (shape.rows++ == 0) shape.cols = cols;
    if (cols != shape.cols)
      row.fail(fmt::format("a row of length {}, expected {} as the first", cols, shape.cols));
  });
  return shape;
}

// {"shape": [rows] or [rows, cols], "data": a list or a list of rows}.
Shape read_shaped(const JsonValue& value, const JsonValue& dims, StepContext& context) {
  std::vector<std::int32_t> shape;
  dims.append_int32s({0, INT32_MAX}, shape);
  const JsonValue data = value.require("data");
  if (shape.empty() || shape.size() > 2)
    dims.fail(fmt::format("{} dimensions, expected 1 or 2", shape.size()));
  const std::size_t first = context.step.ids.size();
  read_list(data, context);
  const Shape result{.rows = shape[0], .cols = shape.size() == 2 ? shape[1] : 1};
  const auto count = static_cast<std::int64_t>(context.step.ids.size() - first);
  if (result.rows * result.cols != count)
    data.fail(fmt::format("length {}, expected {} x {}", count, result.rows, result.cols));
  return result;
}

class GroupReader {
 public:
  GroupReader(ForeignMetadata& metadata, StepContext& context)
      : metadata_(metadata), context_(context) {}

  // Reads the members of a metadata object, or of the object `path` inside it.
  void read_fields(const JsonValue& object, const std::string& path) {
    object.each_member([&](std::string_view key, const JsonValue& member) {
      const std::string name = path + std::string(key);
      const auto known = context_.metadata_fields.lower_bound(name);
      if (known == context_.metadata_fields.end() || !known->starts_with(name)) return;
      if (*known == name)
        read_field(member, name);
      else if ((*known)[name.size()] == '.' && !member.is_null())
        read_fields(member, name + '.');
    });
  }

 private:
  void read_field(const JsonValue& value, const std::string& name) {
    ForeignArray array;
    array.name = name;
    array.none = value.is_null();
    if (array.none) {
      metadata_.arrays.push_back(std::move(array));
      return;
    }
    const std::size_t first = context_.step.ids.size();
    const Shape shape = read_shape_and_values(value, array);
    array.rows = static_cast<std::int32_t>(shape.rows);
    array.cols = static_cast<std::int32_t>(shape.cols);
    array.values = {static_cast<std::uint32_t>(first),
                    static_cast<std::uint32_t>(context_.step.ids.size() - first)};
    metadata_.arrays.push_back(std::move(array));
  }

  Shape read_shape_and_values(const JsonValue& value, ForeignArray& array) {
    if (value.is_array()) return read_list(value, context_);
    if (const auto dims = value.find("shape")) return read_shaped(value, *dims, context_);
    array.scalar = true;
    push_value(value, context_);
    return {};
  }

  ForeignMetadata& metadata_;
  StepContext& context_;
};

// Fields that only some releases have are not listed while they are absent.
struct NamesOfReleases {
  std::set<std::string, std::less<>>& names;

  template <class T>
  void operator()(const MetadataField& field, const T&) const {
    if (field.listed_if_present) names.emplace(field.name);
  }
};

}  // namespace

std::set<std::string, std::less<>> metadata_field_names() {
  std::set<std::string, std::less<>> names;
  for (BuilderMetadata& metadata : every_kind_of_metadata()) {
    set_conv1d_present(metadata);
    for (const NamedArray& array : named_arrays(metadata)) names.emplace(array.name);
    for_each_field(metadata, NamesOfReleases{names});
  }
  return names;
}

void read_attn_metadata(const JsonValue& value, StepContext& context) {
  value.each_member([&](std::string_view key, const JsonValue& member) {
    const std::int32_t group = mamba_group(member, key, context);
    for (const ForeignMetadata& traced : context.step.attn_metadata)
      if (traced.group == group) member.fail("this group is listed twice");
    ForeignMetadata& metadata = context.step.attn_metadata.emplace_back();
    metadata.group = group;
    GroupReader(metadata, context).read_fields(member, "");
  });
}

}  // namespace hybridscope
