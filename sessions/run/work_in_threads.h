// A loop over independent pieces of work on several threads.
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

// Runs independent pieces of work on several threads. Calls work(i) -> Result<std::optional<Value>>
// once for each i below `size`, in any order, and passes each value to take(value) -> Status, one
// call at a time. No new piece begins after one returned nothing (then the result is false), an
// error (the result), or threw (rethrown here).
template <class Value, class Work, class Take>
Result<bool> work_in_threads(std::int32_t num_threads, std::size_t size, const Work& work,
                             const Take& take) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards everything below
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
