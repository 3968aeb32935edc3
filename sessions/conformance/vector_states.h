// State tensors, block tables and copies in the form of the state copy vectors.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/state/copy_launch.h"
#include "core/state/mamba_state_idx.h"
#include "core/state/state_layout.h"
#include "core/state/state_tensor.h"
#include "sessions/conformance/planned_copies.h"
#include "sessions/conformance/vector_table.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The largest token count, column or accepted count, either sign: sums and byte offsets made of
// them fit their types.
inline constexpr std::int32_t kMaxVectorCount = 1 << 26;
// The most requests, rows or slots of one case.
inline constexpr std::int32_t kMaxVectorRequests = 1 << 16;

// An integer, or an array of integers, within kMaxVectorCount. A non-negative `length` is the
// required length.
std::int32_t read_count(const JsonValue& value);
std::vector<std::int32_t> read_counts(const JsonValue& array, std::int64_t length = -1);

// `config.max_num_reqs`.
std::int32_t read_max_num_reqs(const JsonValue& config);

// Shape and stride have the same number of dimensions; the offsets of all elements fit 60 bits.
StateTensor read_state_tensor(const JsonValue& shape, const JsonValue& stride,
                              const JsonValue& elem_size);
// Reads `layout`: conv states are [blocks, state_len, dim] (SD) or [blocks, dim, state_len] (DS).
ConvStateLayout read_conv_state_layout(const JsonValue& config);
// Reads layout, block_size, mamba_groups and memory of `config`. Throws when a layer is in no mamba
// group or does not have one tensor per state kind.
MambaStateTensors read_mamba_state_tensors(const JsonValue& config);

// The flattened layout in the terms of ctx_init vectors, without mamba_group_ids.
nlohmann::json layout_json(const StateLayout& layout);

// One table per mamba group. Views of it stay valid while this object lives.
class VectorBlockTables {
 public:
  explicit VectorBlockTables(const JsonValue& block_tables);
  VectorBlockTables(const VectorBlockTables&) = delete;
  VectorBlockTables& operator=(const VectorBlockTables&) = delete;

  std::span<const TensorView<std::int32_t>> views() const { return views_; }
  // The tables of these mamba groups. Error: not one table per group.
  Result<std::vector<MambaBlockTable>> of_groups(
      std::span<const std::int32_t> mamba_group_ids) const;
  // Elements between two rows, for each table.
  std::vector<std::int64_t> row_strides() const;

 private:
  std::vector<VectorTable> tables_;
  std::vector<TensorView<std::int32_t>> views_;
};

// [group id, layer, state, src, dst, bytes] for each copy of one contiguous region.
nlohmann::json state_copies_json(const MambaStateTensors& tensors,
                                 std::span<const StateCopy> copies);
// [row, flat state, src, dst, row bytes, rows, row stride] for each copy.
nlohmann::json row_copies_json(std::span<const RowStateCopy> copies);
// A launch with one decision per row, carried out on these tables.
CopyLaunch launch_of(std::span<const StateCopyDecision> decisions, MambaBlockTables tables);
// The copies without their rows.
std::vector<StateCopy> without_rows(std::span<const RowStateCopy> copies);

// The requests of a vector: names in the file, ids in core.

// Gives each name a number, in order of first use.
class VectorRequests {
 public:
  RequestId id(const std::string& name);
  std::vector<RequestId> ids(std::span<const std::string> names);
  std::vector<RequestId> ids(const JsonValue& names) { return ids(names.strings()); }
  // {name: column}, and back.
  nlohmann::json state_idx_json(const MambaStateIdx& mamba_state_idx) const;
  MambaStateIdx state_idx(const JsonValue& object);

 private:
  std::map<std::string, RequestId> ids_;
  std::vector<std::string> names_;  // by id
};

// The requests that left, from the three lists of a step.
struct VectorGoneRequests {
  // Reads the members finished_req_ids, preempted_req_ids and resumed_req_ids of `step`.
  VectorGoneRequests(const JsonValue& step, VectorRequests& requests);
  GoneRequests view() const { return {finished, preempted, resumed}; }

  std::vector<RequestId> finished;
  std::vector<RequestId> preempted;
  std::vector<RequestId> resumed;
};

// A map's counts by request, in the order of `names`. Error: a name without an entry.
Result<std::vector<std::int32_t>> counts_of(std::span<const std::string> names,
                                            const JsonValue& counts);
// The counts of the names; a name without an entry has count 0.
std::vector<std::int32_t> counts_or_zero(std::span<const std::string> names,
                                         const JsonValue& counts);

}  // namespace hybridscope
