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

#include "core/base/check.h"
#include "core/base/ids.h"

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

}  // namespace hybridscope
