// What one row of a layer kernel does to one recurrent state: the trace recurrence folds its tokens
// (semantics: fingerprint).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/fingerprint.h"
#include "core/base/host_device.h"
#include "core/state/state_ops.h"
#include "kernels/state_view.h"

namespace hybridscope {

// The fingerprint that a row starts from in one layer, read from the layer's own state.
HS_HOST_DEVICE inline Fingerprint load_start(const StateView& state, const ForwardRow& row) {
  if (row.temporal_src_block >= 0)
    return load_fingerprint(state.block(row.temporal_src_block), state.geometry.elem_size);
  return row.temporal_src_block == kNoSource ? row.start : kPoison;
}

// For each temporal write w of the row, folded[w * stride] = the state that it writes; other
// elements are not changed. `writes` and `tokens` are the row's. If writes ascend by num_tokens,
// one pass over the tokens is enough.
HS_HOST_DEVICE inline void fold_row(const ForwardRow& row, const ForwardWrite* writes,
                                    const TokenContent* tokens, Fingerprint start,
                                    Fingerprint* folded, std::int64_t stride = 1) {
  Fingerprint state = start;
  std::int32_t num_folded = 0;
  for (std::int32_t w = 0; w < row.num_writes; ++w) {
    if (writes[w].kind != ForwardWriteKind::temporal) continue;
    if (writes[w].num_tokens < num_folded) {
      state = start;
      num_folded = 0;
    }
    for (; num_folded < writes[w].num_tokens; ++num_folded)
      state = extend_fingerprint(state, tokens[num_folded]);
    folded[w * stride] = state;
  }
}

}  // namespace hybridscope
