// Times the layer kernels of prompt rows, by chunks and token after token.
#pragma once

namespace hybridscope {

// Prints a table: 8,192 tokens, as one sequence and as 8 of 1,024. `once`: every kernel is launched
// once and not timed, for profilers.
void bench_prefill(bool once);

}  // namespace hybridscope
