// Threads beside Python: work without the GIL, and a thread that takes lines in their order.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/result.h"

namespace hybridscope {

class LineThread {
 public:
  struct Options {
    std::size_t limit = 1024;  // put() waits while so many lines wait
    std::function<Status(const std::string& line)> take;
    // After the first error of take(), in the thread; later lines are dropped.
    std::function<void(const Error&)> failed;
  };
  // Makes one line, in the thread. Error: it cannot be made.
  using MakeLine = std::function<Result<std::string>()>;

  explicit LineThread(Options options);
  LineThread(const LineThread&) = delete;
  LineThread& operator=(const LineThread&) = delete;
  ~LineThread() { close(); }

  void put(MakeLine line);
  // put() where it need not wait. False: it would, and `line` is unchanged.
  bool put_at_once(MakeLine& line);
  // Waits until all lines were taken. In the thread itself it returns at once.
  void drain();
  // Takes what waits and ends the thread. In the thread itself it only asks for that.
  void close();
  // Not after a close() that waited for its end.
  bool is_running() const { return thread_.joinable(); }

 private:
  void add(MakeLine line);
  bool wait_for_line(std::unique_lock<std::mutex>& lock);
  void run();
  void take(const MakeLine& line);
  Status take_or_explain(const MakeLine& line) const;
  bool in_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  Options options_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<MakeLine> lines_;
  bool busy_ = false;
  bool asleep_ = false;  // it must be woken
  bool closed_ = false;
  bool failed_ = false;
  std::thread thread_;
};

// Work without the GIL.

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
