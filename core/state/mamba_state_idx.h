// The column of each request's running state, remembered between two steps by request.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace hybridscope {

// align: the running column; all: the column of the last scheduled token. A request may have no
// entry.
class MambaStateIdx {
 public:
  MambaStateIdx() = default;
  MambaStateIdx(std::initializer_list<std::pair<RequestId, std::int32_t>> entries) {
    for (const auto& [request, column] : entries) set(request, column);
  }

  std::optional<std::int32_t> find(RequestId request) const {
    const auto i = static_cast<std::size_t>(request.value);
    if (request.value < 0 || i >= columns_.size() || columns_[i] == kNone) return std::nullopt;
    return columns_[i];
  }
  // Requires: an id, and a column of a block table.
  void set(RequestId request, std::int32_t column) {
    HS_EXPECT(request.value >= 0 && column != kNone);
    const auto i = static_cast<std::size_t>(request.value);
    if (i >= columns_.size()) columns_.resize(i + 1, kNone);
    columns_[i] = column;
  }
  void erase(RequestId request) {
    if (find(request)) columns_[static_cast<std::size_t>(request.value)] = kNone;
  }
  // Ascending by request.
  std::vector<std::pair<RequestId, std::int32_t>> entries() const;

  friend bool operator==(const MambaStateIdx& a, const MambaStateIdx& b) {
    return a.entries() == b.entries();
  }

 private:
  static constexpr std::int32_t kNone = INT32_MIN;
  std::vector<std::int32_t> columns_;  // by request id
};

struct GoneRequests {
  std::span<const RequestId> finished_req_ids{};
  std::span<const RequestId> preempted_req_ids{};  // empty also for None
  std::span<const RequestId> resumed_req_ids{};
};

// cleanup_mamba_state_idx (semantics: cleanup-mamba-state-idx): forgets finished, preempted and
// resumed requests; unknown ids are fine.
void cleanup_mamba_state_idx(const GoneRequests& gone, MambaStateIdx& mamba_state_idx);

// The per-request arrays that the fused V1 postprocess reads, staged in batch order while the
// step is prepared.

// Persistent buffers, [max_num_reqs] each, initially zero.
struct PostprocessInputBuffers {
  std::vector<std::int32_t> mamba_state_idx;
  std::vector<std::int32_t> num_scheduled_tokens;
  std::vector<std::int32_t> num_computed_tokens;
  std::vector<std::int32_t> num_draft_tokens;
  friend bool operator==(const PostprocessInputBuffers&, const PostprocessInputBuffers&) = default;
};
PostprocessInputBuffers make_postprocess_input_buffers(std::int32_t max_num_reqs);

struct StagePostprocessInputs {
  std::span<const RequestId> req_ids;                  // [num_reqs] batch order
  std::span<const std::int32_t> num_scheduled_tokens;  // [num_reqs]
  std::span<const std::int32_t> num_computed_tokens;   // [num_reqs] before the step
  std::span<const std::int32_t> num_draft_tokens;      // [num_reqs] 0: no drafts
};

// stage_postprocess_inputs_to_gpu: rows [0, num_reqs) are written, later ones keep older values.
// Errors: a request without an entry (the align preprocess must have run for this batch), arrays of
// unequal length, more requests than the buffers hold; `buffers` is then unchanged.
Status stage_postprocess_inputs(const StagePostprocessInputs& inputs,
                                const MambaStateIdx& mamba_state_idx,
                                PostprocessInputBuffers& buffers);

}  // namespace hybridscope
