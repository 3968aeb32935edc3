#include "gui/attached_bar.h"

#include <fmt/core.h>
#include <unistd.h>
#include <algorithm>
#include <fstream>
#include <vector>

#include "gui/gui_session.h"
#include "gui/model/attached_engine.h"
#include "gui/widgets.h"
#include "sessions/text/input_file.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr float kMostPlaceWidth = 260;

Rgba tone_colour(const Look& look, AttachedTone tone) {
  switch (tone) {
    case AttachedTone::ok: return look.ui().ok;
    case AttachedTone::waits: return look.ui().warning;
    case AttachedTone::bad: return look.ui().error;
  }
  return look.ui().text;
}

void coloured_text(Rgba colour, const std::string& text) {
  const TextColour scope(colour);
  ImGui::TextUnformatted(text.c_str());
}

void next_item(PanelContext& context, float gap) { ImGui::SameLine(0, context.look.px(gap)); }

void draw_place(PanelContext& context, const AttachedModel& model) {
  const float room = std::min(context.look.px(kMostPlaceWidth), ImGui::GetContentRegionAvail().x);
  dim_text(context.look, fit_middle(context.look.fonts.words, model.place, room));
  context.mark("attached place");
  tooltip(model.place);
}

void draw_hold_buttons(PanelContext& context, const AttachedModel& model) {
  if (!model.can_hold) {
    dim_text(context.look, "a file: the engine cannot be held");
    tooltip("Only an engine that is reached through unix:PATH can be asked to hold");
    return;
  }
  if (ImGui::Button(model.is_held ? "Continue" : "Hold"))
    context.emit(model.is_held ? "engine.continue" : "engine.hold");
  context.mark(model.is_held ? "engine.continue" : "engine.hold");
  tooltip(model.is_held ? "Let the engine make its next step (C)"
                        : "Ask the engine to wait before its next step (H)");
  next_item(context, 4);
  if (toggle(context.look, "Hold at findings", model.holds_at_findings))
    context.emit("engine.hold_at_findings");
  context.mark("engine.hold_at_findings");
  tooltip("Ask the engine to wait as soon as a step has a finding; breakpoints hold it too");
}

// The rest of the line, cut if there is no room.
void draw_words(PanelContext& context, const AttachedModel& model) {
  const UiColours& ui = context.look.ui();
  if (!model.behind.empty()) {
    next_item(context, 14);
    coloured_text(ui.warning, model.behind);
    context.mark("attached behind");
    tooltip("Steps that were received, or are in the file, and are not judged and shown yet");
  }
  const std::string& words = model.error.empty() ? model.hold : model.error;
  if (words.empty()) return;
  next_item(context, 14);
  const TextColour scope(model.error.empty() ? ui.warning : ui.error);
  fitted_text(words);
  context.mark("attached words");
}

}  // namespace

void draw_attached_bar(PanelContext& context) {
  const Workbench& workbench = context.workbench;
  const AttachedModel model = make_attached_model(*workbench.attached(), workbench.run());
  ImGui::AlignTextToFramePadding();
  coloured_text(tone_colour(context.look, model.tone), model.state);
  context.mark("attached state");
  next_item(context, 8);
  draw_place(context, model);
  next_item(context, 14);
  if (toggle(context.look, "Follow", model.follows)) context.emit("engine.follow");
  context.mark("engine.follow");
  tooltip("Show the newest step as it comes (F, End); going to another step stays there");
  if (!model.newest.empty()) {
    next_item(context, 8);
    ImGui::TextUnformatted(model.newest.c_str());
    context.mark("attached newest");
  }
  next_item(context, 14);
  draw_hold_buttons(context, model);
  draw_words(context, model);
}

void draw_waiting(PanelContext& context) {
  ImGui::Dummy(ImVec2(0, context.look.px(12)));
  wrapped_text(waiting_words(*context.workbench.attached()));
  context.mark("attached waiting");
}

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
