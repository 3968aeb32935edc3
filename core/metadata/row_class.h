// What a row of the batch is. The class comes from the request (semantics: row-class); some
// policies guess it from the row's shape instead.
#pragma once

#include <cstdint>

namespace hybridscope {

enum class RowClass : std::uint8_t {
  decode,   // one token that is no draft; no speculation configured
  verify,   // decode row under speculation: query length 1 + d, d >= 0 draft tokens
  prefill,  // tokens of the prompt, or of a resumed request that is computed again
  padding   // row of a captured graph without a request: query length 0
};

}  // namespace hybridscope
