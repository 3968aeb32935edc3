// A thread that takes lines in their order; knows nothing of Python.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

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

}  // namespace hybridscope
