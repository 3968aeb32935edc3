// Kernels that count their calls.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace hybridscope {

// `kernel` adds 1 to `num_launches`, which must outlive it, when it is called. An empty one stays.
template <class Out, class... In>
void count_calls(std::function<Out(In...)>& kernel, std::int64_t& num_launches) {
  if (kernel == nullptr) return;
  kernel = [&num_launches, run = std::move(kernel)](In... in) {
    ++num_launches;
    return run(std::forward<In>(in)...);
  };
}

}  // namespace hybridscope
