#include "integrations/python/src/line_thread.h"

#include <exception>
#include <utility>

namespace hybridscope {

LineThread::LineThread(Options options)
    : options_(std::move(options)), thread_([this] { run(); }) {}

void LineThread::put(MakeLine line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || closed_ || lines_.size() < options_.limit; });
  if (failed_ || closed_) return;
  lines_.push_back(std::move(line));
  changed_.notify_all();
}

void LineThread::drain() {
  if (in_thread()) return;
  std::unique_lock lock(mutex_);
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

void LineThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closed_ || !lines_.empty(); });
    if (lines_.empty()) return;
    const MakeLine line = std::move(lines_.front());
    lines_.pop_front();
    busy_ = true;
    changed_.notify_all();
    lock.unlock();
    take(line);
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

}  // namespace hybridscope
