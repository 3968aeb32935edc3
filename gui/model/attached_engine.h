// The engine that the window is attached to, as the window sees it: what was known at the last
// look, whether the newest step is followed, and which of its traces is shown.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gui/model/attachment.h"
#include "gui/model/recorded_run.h"
#include "gui/model/run_control.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// This many steps are always under way from the engine to the window: they are no delay.
inline constexpr std::int64_t kStepsUnderWay = 64;

class AttachedEngine {
 public:
  static constexpr std::int64_t kPatienceSeconds = 10;

  explicit AttachedEngine(Attachment::Options options);

  const std::string& place() const { return attachment_.options().place; }
  // Can it be asked to hold? An engine that writes a file cannot.
  bool is_socket() const { return attachment_.is_socket(); }
  // The level of its sessions.
  RecordLevel level() const { return attachment_.options().level; }
  const AttachStatus& status() const { return status_; }

  // Looks at what has come. True: something that is shown has changed.
  bool look();
  // Opens the session of a trace that began after the shown one, at its newest step. Null: there is
  // none, or it has no step yet.
  Result<std::unique_ptr<RecordedRun>> open_next_trace();
  // Shows the steps of the file to the open run. True: there were new ones.
  Result<bool> extend_run();
  // The next hit whose step is in the open run.
  std::optional<ArrivedHit> take_hit();

  // Judged or received steps that the open run does not have.
  std::int64_t num_behind() const;
  bool keeps_up() const { return num_behind() <= kStepsUnderWay; }
  // Is everything that came in the open run, as far as that is known?
  bool has_caught_up() const { return run_ != nullptr && num_behind() == 0; }

  bool follows() const { return follows_; }
  void follow() { follows_ = true; }
  void stay() { follows_ = false; }

  // Breakpoints hold the engine as long as they are on; findings where the user wants it.
  void set_breakpoints(const std::vector<Breakpoint>& list);
  // Can a step hold the engine?
  bool holds() const { return rules_.at_findings || !rules_.breakpoints.empty(); }
  bool holds_at_findings() const { return rules_.at_findings; }
  void hold_at_findings(bool on);
  Status hold() { return attachment_.hold("Hold was pressed"); }
  Status resume() { return attachment_.resume(); }

  // A script waits until the step is in the open run, the trace ends, or so many seconds have gone.
  void wait_for(std::int64_t step, std::int64_t seconds = kPatienceSeconds) {
    awaited_ = step;
    patience_seconds_ = seconds;
    awaited_until_us_ = 0;
  }
  bool is_awaited() const { return awaited_ > 0; }
  // How the wait ended, said once; empty: it goes on, or nothing is awaited.
  std::optional<Status> end_of_wait(std::int64_t now_us);

 private:
  Attachment attachment_;
  AttachStatus status_;
  std::deque<ArrivedHit> hits_;  // of steps that the open run does not have yet
  HoldRules rules_;
  RecordedRun* run_ = nullptr;  // the workbench owns it
  std::int32_t shown_trace_ = 0;
  bool follows_ = true;
  std::int64_t awaited_ = 0;
  std::int64_t patience_seconds_ = kPatienceSeconds;
  std::int64_t awaited_until_us_ = 0;  // 0: nobody has looked at the clock yet
};

// The line about the attached engine, under the run bar.

enum class AttachedTone : std::uint8_t { ok, waits, bad };

struct AttachedModel {
  std::string state;  // "live"
  AttachedTone tone = AttachedTone::waits;
  std::string place;
  std::string newest;  // "newest step 812", "12 new steps"; empty: no step has come
  std::string behind;  // "412 steps behind"; empty: it keeps up
  std::string hold;    // "held after step 12: ..."; empty: it runs, as far as is known
  std::string error;   // its first line, the rest is of AttachStatus; or what keeps from a verdict
  bool follows = true;
  bool can_hold = false;
  bool is_held = false;
  bool is_hold_asked = false;
  bool holds_at_findings = false;
};

enum class Exactness : std::uint8_t { counted, estimated };
// "412 steps behind"; empty for steps that are under way.
std::string behind_words(std::int64_t num_behind, Exactness exactness);

// `run`: the open one; null: no step has come.
AttachedModel make_attached_model(const AttachedEngine& engine, const ShownRun* run);

// What the window shows before the first step. "Waiting for unix:engine.sock: ..."
std::string waiting_words(const AttachedEngine& engine);

}  // namespace hybridscope
