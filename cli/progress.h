// Progress of a long command on stderr: on a watched terminal one line that is overwritten,
// elsewhere (a log, continuous integration) a line every 10 s.
#pragma once

#include <chrono>
#include <string>

namespace hybridscope {

// When the next progress line is due.
class ProgressPace {
 public:
  using Clock = std::chrono::steady_clock;

  ProgressPace(bool watched, Clock::time_point start) : watched_(watched), last_(start) {}

  // Is it time? Then the next time is counted from `now`.
  bool due(Clock::time_point now);

 private:
  bool watched_;
  Clock::time_point last_;
};

class Progress {
 public:
  // `quiet`: says nothing at all.
  explicit Progress(bool quiet = false);

  // `make_text` gives one line and is called only when it is shown.
  template <class MakeText>
  void show(const MakeText& make_text) {
    if (!quiet_ && pace_.due(ProgressPace::Clock::now())) print(make_text());
  }

  // Before anything else is written.
  void clear();

 private:
  void print(const std::string& text);

  bool quiet_;
  bool watched_;
  ProgressPace pace_;
  bool shown_ = false;  // a line is there to be erased
};

}  // namespace hybridscope
