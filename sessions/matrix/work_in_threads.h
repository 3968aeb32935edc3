// A list of independent pieces of work on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// work(i) -> Result<std::optional<Value>> for each i below `size`, each once, in no order; what it
// gives goes to take(value) -> Status, one call at a time. Nothing of it is begun any more once a
// piece gave nothing (then the answer is false), an error (the answer) or an exception (thrown on).
template <class Value, class Work, class Take>
Result<bool> work_in_threads(std::int32_t num_threads, std::size_t size, const Work& work,
                             const Take& take) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // of everything below
  std::optional<Error> error;
  std::exception_ptr thrown;
  bool stopped = false;

  const auto ended = [&] {
    const std::scoped_lock lock(mutex);
    return stopped;
  };
  const auto keep = [&](Result<std::optional<Value>> result) {
    const std::scoped_lock lock(mutex);
    if (!result.ok() || !result.value()) stopped = true;
    if (!result.ok() && !error) error = result.error();
    if (stopped) return;
    if (const Status taken = take(*result.value()); !taken.ok()) {
      stopped = true;
      error = taken.error();
    }
  };
  const auto loop = [&] {
    for (std::size_t i = next++; i < size && !ended(); i = next++) {
      try {
        keep(work(i));
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!thrown) thrown = std::current_exception();
        stopped = true;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int32_t t = 1; t < num_threads; ++t) threads.emplace_back(loop);
    loop();
  }
  if (thrown) std::rethrow_exception(thrown);
  if (error) return *error;
  return !stopped;
}

}  // namespace hybridscope
