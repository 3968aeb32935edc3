// Tells a Python callback how far a long call is, which runs without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace hybridscope {

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
