// What the last row of each request before a step left (own_count_left). A step asks for all of its
// requests: the rows of the step before are read at once. Of requests that the step admits, the
// first time or again, only steps near their last row are read.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "sessions/explain/explain_decision.h"
#include "storage/step_loader.h"
#include "storage/table_cursor.h"

namespace hybridscope {

class LastRows {
 public:
  // `context` must outlive this; errors go to it.
  LastRows(ReadContext& context, const SessionHeader& header);

  // What the request's last row before the step left; empty: it has had none.
  std::optional<OwnCount> before(RequestId request, std::int64_t step);

 private:
  // The first column of the query's first row; 0: it has none.
  std::int64_t number(ReadStatement& query, std::initializer_list<std::int64_t> parameters);
  std::int64_t find_last_row(RequestId request);
  // The counts that the rows of a step left: of all requests, or of one.
  void take(std::int64_t step, std::optional<RequestId> only = std::nullopt);

  ReadContext& context_;
  StepLoader loader_;
  StepRecord record_;
  ReadStatement step_before_;
  ReadStatement admission_;
  ReadStatement preempted_;
  ReadStatement last_row_;
  std::int64_t step_ = 0;  // counts_ are those before this step; 0: none were read
  std::unordered_map<std::int32_t, std::optional<OwnCount>> counts_;  // by request
};

}  // namespace hybridscope
