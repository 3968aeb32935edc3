// Work without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <utility>

namespace hybridscope {

// work() without the GIL. Requires: the GIL.
template <class Work>
auto without_gil(const Work& work) {
  const pybind11::gil_scoped_release released;
  return work();
}

// A value for several threads.
template <class Value>
class Locked {
 public:
  explicit Locked(std::unique_ptr<Value> value) : value_(std::move(value)) {}

  // use(value) without the GIL, one thread at a time. Requires: the GIL.
  template <class Use>
  auto use(const Use& use) {
    return without_gil([&] { return use_without_gil(use); });
  }
  // Lets a thread that does not have the GIL use the value.
  template <class Use>
  auto use_without_gil(const Use& use) {
    const std::lock_guard one_thread(mutex_);
    return use(*value_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Value> value_;
};

}  // namespace hybridscope
