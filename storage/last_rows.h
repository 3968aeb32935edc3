// What the last row of each request before a step left (count_left), from the tables of rows and
// decisions. A step asks for all of its requests: the rows of the step before are read at once. Of
// requests that the step admits, the first time or again, only steps near their last row are read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "sessions/explain/explain_decision.h"
#include "storage/table_cursor.h"

namespace hybridscope {

class LastRows {
 public:
  explicit LastRows(ReadContext& context);

  // The accepted count of the request's last row before the step; empty: it has had no row.
  // `first_step`: asked for a request that had none in the step before; no row of it lies before
  // that. Errors go to the context.
  std::optional<OwnCount> before(RequestId request, std::int64_t step,
                                 const std::function<std::int64_t()>& first_step);

 private:
  void load(std::int64_t step);
  void load_admitted();
  std::optional<OwnCount> find(RequestId request, std::int64_t before, std::int64_t first_step);
  void load_missing_copies(std::int64_t step);

  ReadContext& context_;
  ReadStatement of_step_before_;
  ReadStatement admitted_;
  ReadStatement of_request_;
  ReadStatement missing_copies_;
  std::int64_t step_ = 0;  // counts_ are those before this step; 0: none were read
  std::unordered_map<std::int32_t, std::optional<OwnCount>> counts_;  // by request
};

}  // namespace hybridscope
