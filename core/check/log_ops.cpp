#include "core/check/log_ops.h"

#include <algorithm>

namespace hybridscope {
namespace {

std::size_t num_writes_of_rows(const StateOps& ops) {
  if (ops.rows.empty()) return 0;
  return static_cast<std::size_t>(ops.rows.back().first_write + ops.rows.back().num_writes);
}

// Keeps only the later one of two writes of one kind to one block, so that a kernel may carry out a
// row's writes in any order.
void drop_replaced(std::vector<ForwardWrite>& writes, std::size_t first) {
  std::size_t kept = first;
  for (std::size_t i = first; i < writes.size(); ++i) {
    const auto replaces = [&](const ForwardWrite& later) {
      return later.kind == writes[i].kind && later.block == writes[i].block;
    };
    const auto behind = writes.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::none_of(behind, writes.end(), replaces)) writes[kept++] = writes[i];
  }
  writes.resize(kept);
}

}  // namespace

void log_tokens(CheckContext& context, const RowTruth& truth) {
  StateOps* ops = context.ops();
  if (ops == nullptr) return;
  const StepTrace& trace = context.trace();
  ops->tokens.assign(trace.tokens.begin(), trace.tokens.end());
  ops->token_fingerprints.assign(trace.tokens.size(), kPoison);
  for (std::size_t row = 0; row < trace.rows.size(); ++row) {
    const auto r = static_cast<std::int32_t>(row);
    const auto first = static_cast<std::size_t>(trace.common.query_start_loc[row]);
    for (std::int32_t t = 0; t < truth.num_query_tokens(r); ++t)
      ops->token_fingerprints[first + static_cast<std::size_t>(t)] =
          truth.at(r, truth.num_computed_tokens(r) + 1 + t);
  }
}

void append_row(StateOps& ops, ForwardRow row) {
  const std::size_t first = num_writes_of_rows(ops);
  drop_replaced(ops.writes, first);
  if (ops.writes.size() == first) return;
  row.first_write = static_cast<std::int32_t>(first);
  row.num_writes = static_cast<std::int32_t>(ops.writes.size() - first);
  ops.add_row(row);
}

void log_padding_row(CheckContext& context, ForwardRow row) {
  StateOps* ops = context.ops();
  if (ops == nullptr) return;
  row.first_token = static_cast<std::int32_t>(ops->tokens.size());
  row.num_tokens = 1;
  ops->tokens.push_back(kPoison);
  ops->token_fingerprints.push_back(kPoison);
  append_row(*ops, row);
}

}  // namespace hybridscope
