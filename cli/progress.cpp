#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "cli/environment.h"
#include "cli/safe_streams.h"

namespace hybridscope {

bool ProgressPace::due(Clock::time_point now) {
  const auto pause = watched_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000);
  if (now - last_ < pause) return false;
  last_ = now;
  return true;
}

Progress::Progress(bool quiet)
    : quiet_(quiet),
      watched_(is_watched(environment_variable, isatty(STDERR_FILENO) != 0)),
      pace_(watched_, ProgressPace::Clock::now()) {}

void Progress::print(const std::string& text) {
  if (watched_) erase_line();
  fmt::print(stderr, "{}{}", text, watched_ ? ' ' : '\n');
  std::fflush(stderr);
  shown_ = watched_;
}

void Progress::clear() {
  if (shown_) erase_line();
  shown_ = false;
}

}  // namespace hybridscope
