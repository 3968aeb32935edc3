#include "sessions/record/record_views.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "core/base/result.h"
#include "core/metadata/metadata_builders.h"

namespace hybridscope {
namespace {

// Sets the fields it visits to the record's values.
class Restorer {
 public:
  Restorer(const std::vector<ArrayRecord>& arrays, std::int32_t group, RestoredArrays& storage)
      : arrays_(arrays), group_(group), storage_(storage) {}

  template <class T>
  void operator()(const MetadataField& field, T& member) {
    const ArrayRecord* array = find(field.name);
    if (array == nullptr || !array->present) return;
    if constexpr (std::is_arithmetic_v<T>)
      member = array->values.empty() ? T{} : static_cast<T>(array->values.front());
    else
      set_view(*array, member);
  }
  void operator()(const MetadataField& field, TokenIndxDtype& dtype) {
    const ArrayRecord* array = find(field.name);
    const bool wide = array != nullptr && array->dtype == ArrayDtype::int64;
    dtype = wide ? TokenIndxDtype::int64 : TokenIndxDtype::int32;
  }
  void operator()(const MetadataField&, CausalConv1dMetadata& conv1d) {
    const ArrayRecord* nums = find("nums_dict.8.nums");
    if (nums == nullptr) return;
    conv1d.present = true;
    set_view(*nums, conv1d.nums);
    (*this)({"nums_dict.8.tot", ArrayDtype::host_int}, conv1d.tot);
    set_pointers("batch_ptr", conv1d.batch_ptr);
    set_pointers("token_chunk_offset_ptr", conv1d.token_chunk_offset_ptr);
  }

 private:
  const ArrayRecord* find(std::string_view name) const {
    const auto found = std::ranges::find_if(arrays_, [&](const ArrayRecord& array) {
      return array.group == group_ && array.name == name;
    });
    return found == arrays_.end() ? nullptr : &*found;
  }
  static void set_view(const ArrayRecord& array, TensorView<std::int32_t>& view) {
    view = {array.values.data(), array.rows, array.cols, array.dims, true};
  }
  void set_view(const ArrayRecord& array, TensorView<std::uint8_t>& view) {
    const auto& flags = storage_.flags.emplace_back(array.values.begin(), array.values.end());
    view = {flags.data(), array.rows, array.cols, array.dims, true};
  }

  // The record has the written part; -1 follows (CausalConv1dMetadata).
  void set_pointers(std::string_view name, TensorView<std::int32_t>& view) {
    const ArrayRecord* array = find(name);
    if (array == nullptr) return;
    const std::size_t length = 2 * std::max<std::size_t>(1024, array->values.size());
    std::vector<std::int32_t>& pointers = storage_.pointers.emplace_back(length, -1);
    std::ranges::copy(array->values, pointers.begin());
    view = vector_view(pointers.data(), static_cast<std::int32_t>(length));
  }

  const std::vector<ArrayRecord>& arrays_;
  std::int32_t group_;
  RestoredArrays& storage_;
};

}  // namespace

void RecordViews::attach_common() {
  const std::size_t num_rows = trace_.rows.size();
  const std::size_t num_reqs =
      trace_.graph.pads_metadata()
          ? std::max(num_rows, static_cast<std::size_t>(std::max(trace_.graph.num_reqs_padded, 0)))
          : num_rows;
  // No batch without rows.
  query_start_loc_.assign(num_reqs == 0 ? 0 : num_reqs + 1, 0);
  seq_lens_.assign(num_reqs, 0);
  is_prefilling_.assign(num_reqs, 0);
  trace_.common.max_query_len = 0;
  for (std::size_t r = 0; r < num_reqs; ++r) {
    query_start_loc_[r + 1] = query_start_loc_[r];
    if (r >= num_rows) continue;
    const RowTrace& row = trace_.rows[r];
    const std::int32_t q = trace_.scheduled_of(row).num_scheduled_tokens;
    query_start_loc_[r + 1] += q;
    trace_.common.max_query_len = std::max(trace_.common.max_query_len, q);
    is_prefilling_[r] = row.is_prefilling ? 1 : 0;
    seq_lens_[r] = row.num_computed_tokens + q;
  }
  trace_.common.query_start_loc = query_start_loc_;
  trace_.common.seq_lens = seq_lens_;
  trace_.common.is_prefilling = is_prefilling_;
  trace_.common.num_reqs = static_cast<std::int32_t>(num_reqs);
  trace_.common.num_actual_tokens =
      trace_.graph.pads_metadata() ? trace_.graph.num_tokens_padded : trace_.num_scheduled_tokens;
}

void RecordViews::attach_tables(const WorkerTables& worker_tables) {
  tables_.resize(trace_.groups.size());
  for (std::size_t g = 0; g < trace_.groups.size(); ++g) {
    const auto group = static_cast<std::int32_t>(g);
    std::size_t columns = 0;
    for (const RowTrace& row : trace_.rows)
      columns = std::max(columns, worker_tables.block_ids(row.request, group).size());
    std::vector<std::int32_t>& table = tables_[g];
    table.assign(seq_lens_.size() * columns, kNullBlock);
    for (std::size_t r = 0; r < trace_.rows.size(); ++r)
      std::ranges::copy(worker_tables.block_ids(trace_.rows[r].request, group),
                        table.begin() + static_cast<std::ptrdiff_t>(r * columns));
    trace_.groups[g].block_table =
        matrix_view(table.data(), static_cast<std::int32_t>(seq_lens_.size()),
                    static_cast<std::int32_t>(columns));
  }
}

void RecordViews::attach_metadata(const StepRecord& record) {
  restored_.flags.clear();
  restored_.pointers.clear();
  for (GroupTrace& group : trace_.groups) {
    const auto has_arrays = std::ranges::any_of(
        record.arrays, [&](const ArrayRecord& array) { return array.group == group.group; });
    const auto index = static_cast<std::size_t>(group.group);
    const auto& groups = config_.kv_cache_config.groups;
    if (!group.is_mamba || !has_arrays || index >= groups.size()) continue;
    Restorer restorer(record.arrays, group.group, restored_);
    restorer({"temporal_source_column"}, group.temporal_source_column);
    restorer({"conv_source_column"}, group.conv_source_column);
    const MetadataBuilderRow& builder =
        metadata_builder_row(std::get<MambaSpec>(groups[index].spec).mamba_type);
    group.metadata = builder.empty_metadata();
    for_each_field(*group.metadata, restorer);
    group.replayed_arrays =
        builder.replayed_arrays(config_.mamba_cache_mode, config_.num_speculative_tokens);
  }
}

const StepTrace& RecordViews::attach(const StepRecord& record, const WorkerTables& worker_tables) {
  copy_decisions(record.trace, trace_);
  attach_common();
  attach_tables(worker_tables);
  attach_metadata(record);
  return trace_;
}

namespace {

// A column whose block was never recorded.
constexpr std::int32_t kUnknown = -2;

// Rows are as wide as the longest request may become and mostly empty, so they are scanned in
// strides that the compiler vectorises.
std::size_t used_columns(std::span<const std::int32_t> row) {
  constexpr std::size_t kStride = 64;
  std::size_t used = row.size();
  while (used >= kStride) {
    std::int32_t any = 0;
    for (const std::int32_t block : row.subspan(used - kStride, kStride)) any |= block ^ kNullBlock;
    if (any != 0) break;
    used -= kStride;
  }
  while (used > 0 && row[used - 1] == kNullBlock) --used;
  return used;
}

}  // namespace

WorkerTables::WorkerTables(std::int32_t num_groups)
    : num_groups_(static_cast<std::size_t>(num_groups)) {}

std::vector<std::int32_t>& WorkerTables::table(RequestId request, std::int32_t group) {
  HS_EXPECT(request.value >= 0 && group >= 0 && static_cast<std::size_t>(group) < num_groups_);
  const std::size_t index =
      static_cast<std::size_t>(request.value) * num_groups_ + static_cast<std::size_t>(group);
  if (index >= tables_.size())
    tables_.resize((static_cast<std::size_t>(request.value) + 1) * num_groups_);
  return tables_[index];
}

void WorkerTables::follow(const StepTrace& trace, const BlockTableMirror& scheduler,
                          TableReach reach, std::vector<WorkerTableChange>& changes) {
  for (const GroupTrace& group : trace.groups) {
    const TensorView<std::int32_t>& given = group.block_table;
    if (!given.present) continue;
    const auto columns = static_cast<std::size_t>(given.cols);
    const std::size_t num_rows = std::min(trace.rows.size(), static_cast<std::size_t>(given.rows));
    for (std::size_t r = 0; r < num_rows; ++r) {
      const RequestId request = trace.rows[r].request;
      const std::span row(given.data + r * columns, columns);
      std::size_t length = std::min(scheduler.block_ids(request, group.group).size(), columns);
      if (reach == TableReach::whole_row) length = std::max(length, used_columns(row));
      follow_row(request, group.group, row.first(length), row, changes);
    }
  }
}

// `row`: the part that is followed; `whole`: the whole row, for columns that the table had before.
void WorkerTables::follow_row(RequestId request, std::int32_t group,
                              std::span<const std::int32_t> row,
                              std::span<const std::int32_t> whole,
                              std::vector<WorkerTableChange>& changes) {
  std::vector<std::int32_t>& known = table(request, group);
  if (known.size() == row.size() && std::equal(row.begin(), row.end(), known.begin())) return;
  known.resize(std::max(known.size(), row.size()), kUnknown);
  for (std::size_t c = 0; c < std::min(known.size(), whole.size()); ++c) {
    if (known[c] == whole[c]) continue;
    known[c] = whole[c];
    changes.push_back({request, group, static_cast<std::int32_t>(c), whole[c]});
  }
}

void WorkerTables::apply(const WorkerTableChange& change) {
  std::vector<std::int32_t>& ids = table(change.request, change.group);
  const auto column = static_cast<std::size_t>(change.column);
  if (column >= ids.size()) ids.resize(column + 1, kNullBlock);
  ids[column] = change.block;
}

void WorkerTables::set_block_ids(RequestId request, std::int32_t group,
                                 std::span<const std::int32_t> ids) {
  table(request, group).assign(ids.begin(), ids.end());
}

void WorkerTables::drop(RequestId request) {
  for (std::size_t g = 0; g < num_groups_; ++g) {
    const std::size_t index = static_cast<std::size_t>(request.value) * num_groups_ + g;
    if (index < tables_.size()) std::vector<std::int32_t>().swap(tables_[index]);
  }
}

std::span<const std::int32_t> WorkerTables::block_ids(RequestId request, std::int32_t group) const {
  const std::size_t index =
      static_cast<std::size_t>(request.value) * num_groups_ + static_cast<std::size_t>(group);
  if (request.value < 0 || group < 0 || index >= tables_.size()) return {};
  return tables_[index];
}

std::vector<RequestId> WorkerTables::requests() const {
  std::vector<RequestId> result;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const RequestId request{static_cast<std::int32_t>(i / num_groups_)};
    if (!tables_[i].empty() && (result.empty() || result.back() != request))
      result.push_back(request);
  }
  return result;
}

namespace {

std::int32_t num_groups(const EngineConfig& config) {
  return static_cast<std::int32_t>(config.kv_cache_config.groups.size());
}

}  // namespace

StepTables::StepTables(const EngineConfig& config)
    : scheduler_(num_groups(config), config.kv_cache_config.num_blocks),
      worker_(num_groups(config)) {}

void StepTables::apply(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    scheduler_.apply(event);
    if (event.kind == CacheEventKind::table_dropped) worker_.drop(event.request);
  }
}

void StepTables::take(const StepTrace& trace, TableReach reach,
                      std::vector<WorkerTableChange>& changes) {
  apply(pending_);
  apply(trace.cache_events);
  worker_.follow(trace, scheduler_, reach, changes);
  pending_.assign(trace.commit_events.begin(), trace.commit_events.end());
}

}  // namespace hybridscope
