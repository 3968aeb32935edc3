#include "gui/model/attached_model.h"

#include <fmt/core.h>

#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

void describe_state(const AttachedEngine& engine, AttachedModel& model) {
  switch (engine.status().state) {
    case AttachState::waiting:
      model.state = "waiting";
      return;
    case AttachState::live:
      model.state = model.is_held ? "held" : "live";
      model.tone = model.is_held ? AttachedTone::waits : AttachedTone::ok;
      return;
    case AttachState::lost:
      model.state = engine.status().has_end_mark
                        ? "ended, waiting for another trace"
                        : fmt::format("ended early after step {}, trying again",
                                      grouped_number(engine.status().num_judged));
      model.tone = AttachedTone::bad;
      return;
    case AttachState::ended:
      model.state = "ended";
      model.tone = AttachedTone::bad;
      return;
  }
}

std::string newest_words(const AttachedEngine& engine, const ShownRun& run) {
  if (engine.follows()) return fmt::format("newest step {}", grouped_number(run.last_known_step()));
  const auto marks = run.marks();
  const std::ptrdiff_t here = mark_index(marks, run.step());
  const auto num_new = static_cast<std::int64_t>(marks.size()) - here - 1;
  if (num_new == 0) return fmt::format("newest step {}", grouped_number(run.step()));
  return num_new == 1 ? "1 new step" : fmt::format("{} new steps", grouped_number(num_new));
}

std::string hold_words(const AttachStatus& status) {
  if (status.hold)
    return fmt::format("held after step {}: {}", grouped_number(status.hold->step),
                       status.hold->reason);
  if (status.hold_asked_for) return "asked to hold: " + *status.hold_asked_for;
  return {};
}

// What keeps the trace from being judged, at all, to its end or without doubt.
std::string trouble_words(const AttachStatus& status) {
  if (!status.error.empty()) return status.error.substr(0, status.error.find('\n'));
  if (!status.no_more.empty()) return status.no_more;
  return status.untold.empty() ? std::string() : "not judged in full: " + status.untold;
}

}  // namespace

std::string behind_words(std::int64_t num_behind, Exactness exactness) {
  if (num_behind <= kStepsUnderWay) return {};
  return fmt::format("{}{} behind", exactness == Exactness::estimated ? "about " : "",
                     counted(num_behind, "step"));
}

AttachedModel make_attached_model(const AttachedEngine& engine, const ShownRun* run) {
  const AttachStatus& status = engine.status();
  AttachedModel model{
      .state = {},
      .place = engine.place(),
      .newest = run == nullptr ? std::string() : newest_words(engine, *run),
      .behind = behind_words(engine.num_behind(),
                             status.is_estimate ? Exactness::estimated : Exactness::counted),
      .hold = hold_words(status),
      .error = trouble_words(status),
      .follows = engine.follows(),
      .can_hold = engine.is_socket(),
      .is_held = status.hold.has_value(),
      .is_hold_asked = status.hold_asked_for.has_value(),
      .holds_at_findings = engine.holds_at_findings()};
  describe_state(engine, model);
  return model;
}

std::string waiting_words(const AttachedEngine& engine) {
  const AttachStatus& status = engine.status();
  if (!status.error.empty()) return status.error;
  if (status.trace > 0)
    return fmt::format("Attached to {} ({}). Its first step has not come yet.", engine.place(),
                       status.engine);
  return engine.is_socket()
             ? fmt::format("Waiting for an engine that listens on {}.", engine.place())
             : fmt::format("Waiting for an engine that writes {}.", engine.place());
}

}  // namespace hybridscope
