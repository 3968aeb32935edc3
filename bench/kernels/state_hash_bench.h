// Times the hashes of a living engine's states on the GPU.
#pragma once

namespace hybridscope {

// Prints a table. `once`: every case is launched once and not timed, for profilers.
void bench_state_hashes(bool once);

}  // namespace hybridscope
