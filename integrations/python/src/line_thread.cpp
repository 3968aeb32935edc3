#include "integrations/python/src/line_thread.h"

#include <pybind11/stl.h>

#include <exception>

namespace hybridscope {
namespace {

// To wake a thread costs some ten microseconds, and lines come step after step: for a while the
// thread looks by itself whether there is one.
constexpr std::chrono::milliseconds kNap{2};
constexpr int kNaps = 100;

}  // namespace

LineThread::LineThread(Options options)
    : options_(std::move(options)), thread_([this] { run(); }) {}

void LineThread::put(MakeLine line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || closed_ || lines_.size() < options_.limit; });
  add(std::move(line));
}

bool LineThread::put_at_once(MakeLine& line) {
  const std::lock_guard lock(mutex_);
  if (!failed_ && !closed_ && lines_.size() >= options_.limit) return false;
  add(std::move(line));
  return true;
}

void LineThread::add(MakeLine line) {
  if (failed_ || closed_) return;
  lines_.push_back(std::move(line));
  if (asleep_) changed_.notify_all();
}

void LineThread::drain() {
  if (in_thread()) return;
  std::unique_lock lock(mutex_);
  changed_.notify_all();
  changed_.wait(lock, [&] { return lines_.empty() && !busy_; });
}

void LineThread::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable() && !in_thread()) thread_.join();
}

// False: there is none, and none will come.
bool LineThread::wait_for_line(std::unique_lock<std::mutex>& lock) {
  for (int nap = 0; nap < kNaps && !closed_ && lines_.empty(); ++nap) changed_.wait_for(lock, kNap);
  asleep_ = true;
  changed_.wait(lock, [&] { return closed_ || !lines_.empty(); });
  asleep_ = false;
  return !lines_.empty();
}

void LineThread::run() {
  std::unique_lock lock(mutex_);
  while (wait_for_line(lock)) {
    MakeLine line = std::move(lines_.front());
    lines_.pop_front();
    busy_ = true;
    changed_.notify_all();
    lock.unlock();
    take(line);
    line = nullptr;  // what it keeps may need the GIL, whose owner may wait for the lock
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

Status LineThread::take_or_explain(const MakeLine& line) const {
  try {
    const auto made = line();
    return made.ok() ? options_.take(made.value()) : Status(made.error());
  } catch (const std::exception& error) {  // out of memory, or a bug: the engine goes on
    return Error{ErrorKind::not_available, error.what()};
  }
}

void LineThread::take(const MakeLine& line) {
  if (failed_) return;
  const Status taken = take_or_explain(line);
  if (taken.ok()) return;
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }
  options_.failed(taken.error());
}

namespace py = pybind11;

void Teller::call(const Told& told) const {
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (!callback_.is_none()) callback_(told.what, told.done, told.total, told.findings);
}

}  // namespace hybridscope
