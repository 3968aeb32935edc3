#include "gui/attached_bench.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "gui/gui_loop.h"
#include "sessions/text/number_words.h"
#include "sessions/text/stop_request.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kQuietUs = 1'000'000;
constexpr std::int64_t kFirstStepUs = 30'000'000;
constexpr std::int64_t kSampleUs = 100'000;

// Resident memory: the second field of proc(5) statm, in pages.
double resident_mib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  file >> size >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct Sample {
  std::int64_t at_us = 0;
  std::int64_t num_shown = 0;
  std::int64_t num_request_steps = 0;
  std::int64_t num_behind = 0;
  double mib = 0;
};

class Measurement {
 public:
  explicit Measurement(Workbench& workbench) : workbench_(workbench) {}

  // Called often; true: nothing more comes.
  bool is_over() {
    const AttachedEngine& engine = *workbench_.attached();
    const std::int64_t now = now_us();
    const Sample sample{.at_us = now,
                        .num_shown = shown(),
                        .num_request_steps = engine.status().num_request_steps,
                        .num_behind = engine.num_behind(),
                        .mib = 0};
    if (sample.num_shown != last_.num_shown || sample.num_behind > 0) last_ = sample;
    if (!samples_.empty() && now - samples_.back().at_us < kSampleUs) return false;
    if (sample.num_shown > 0 && now - last_.at_us < kQuietUs) {
      samples_.push_back(sample);
      samples_.back().mib = resident_mib();
    }
    const std::int64_t patience = shown() == 0 ? kFirstStepUs : kQuietUs;
    return now - std::max(last_.at_us, begin_us_) > patience;
  }

  const std::vector<Sample>& samples() const { return samples_; }
  // When the last step was shown.
  const Sample& last() const { return last_; }

 private:
  std::int64_t shown() const {
    const ShownRun* run = workbench_.run();
    return run == nullptr ? 0 : static_cast<std::int64_t>(run->marks().size());
  }

  Workbench& workbench_;
  std::int64_t begin_us_ = now_us();
  Sample last_;
  std::vector<Sample> samples_;
};

std::string memory_line(const std::vector<Sample>& samples) {
  std::string line = "resident memory, MiB:";
  constexpr std::size_t kPlaces = 4;
  for (std::size_t i = 0; i <= kPlaces; ++i) {
    const Sample& sample = samples[(samples.size() - 1) * i / kPlaces];
    line += fmt::format("{} {:.0f} at {} steps", i == 0 ? "" : ",", sample.mib,
                        grouped_number(sample.num_shown));
  }
  return line + "\n";
}

}  // namespace

Result<std::string> run_attached_bench(GuiSession& session) {
  Workbench& workbench = session.workbench();
  Measurement measured(workbench);
  run_loop(session, [&] { return stop_requested() || measured.is_over(); });
  if (stop_requested()) return interrupted_reading();
  const AttachStatus& status = workbench.attached()->status();
  if (measured.samples().empty())
    return Error{ErrorKind::not_found, status.error.empty()
                                           ? workbench.attached()->place() + ": no step came"
                                           : status.error};
  const Sample& first = measured.samples().front();
  const Sample& last = measured.last();
  const double seconds = static_cast<double>(last.at_us - first.at_us) / 1e6;
  const auto most = std::ranges::max_element(measured.samples(), {}, &Sample::num_behind);
  std::string report = fmt::format("{} steps, {} request-steps\n", grouped_number(last.num_shown),
                                   grouped_number(last.num_request_steps));
  if (seconds > 0)
    report += fmt::format(
        "{:.2f} s after the first {} steps: {:.0f} steps/s, {:.0f} request-steps/s judged, written "
        "and shown\n",
        seconds, grouped_number(first.num_shown),
        static_cast<double>(last.num_shown - first.num_shown) / seconds,
        static_cast<double>(last.num_request_steps - first.num_request_steps) / seconds);
  report += fmt::format("at most {} steps behind\n", grouped_number(most->num_behind));
  report += memory_line(measured.samples());
  if (!status.error.empty()) report += "ended: " + status.error + "\n";
  return report;
}

}  // namespace hybridscope
