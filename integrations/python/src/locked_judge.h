// One judge for several threads, which is used without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <mutex>

#include "integrations/python/src/judge_feed.h"

namespace hybridscope {

class LockedJudge {
 public:
  explicit LockedJudge(JudgeOptions options) : feed_(std::move(options)) {}

  // use(feed) without the GIL, one thread at a time. Requires: the GIL.
  template <class Use>
  auto with_feed(const Use& use) {
    const pybind11::gil_scoped_release released;
    const std::lock_guard one_thread(mutex_);
    return use(feed_);
  }

 private:
  std::mutex mutex_;
  JudgeFeed feed_;
};

}  // namespace hybridscope
