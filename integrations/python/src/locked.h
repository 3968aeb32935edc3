// Work without the GIL.
#pragma once

#include <pybind11/pybind11.h>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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

// Tells a Python callback how far a long call is, which runs without the GIL.

struct Told {
  const char* what = "";  // what is counted: "steps", "lines"
  std::int64_t done = 0;
  std::optional<std::int64_t> total = {};
  std::int64_t findings = 0;
};

class Teller {
 public:
  // `callback`: takes the members of Told, or is None. Requires: the GIL.
  explicit Teller(pybind11::object callback) : callback_(std::move(callback)) {}

  // Cheap; every tenth of a second it calls back and looks for signals such as Ctrl-C. Throws what
  // the callback or the signal's handler raises. Requires: not the GIL.
  template <class MakeTold>
  void tell(const MakeTold& make_told) {
    if (const Clock::time_point now = Clock::now(); now >= due_) {
      due_ = now + kPace;
      call(make_told());
    }
  }
  // Calls back at once.
  void call(const Told& told) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kPace = std::chrono::milliseconds(100);

  pybind11::object callback_;
  Clock::time_point due_ = Clock::now() + kPace;
};

}  // namespace hybridscope
