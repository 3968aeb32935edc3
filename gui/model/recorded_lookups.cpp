// What other steps of a session tell, read beside the shown one a few at a time, and its bookmarks.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "gui/model/finding_chains.h"
#include "gui/model/recorded_run.h"
#include "storage/session_file.h"
#include "storage/session_reader.h"

namespace hybridscope {

bool RecordedRun::load_more() {
  const bool lacks_activities = std::exchange(lacks_activities_, false);
  const bool has_read_speech = read_speech();
  if (decide_next() || lacks_activities || has_read_speech) return true;
  if (remade_ == nullptr || !remade_->is_behind()) return false;
  remade_->go_on();
  return !remade_->is_behind();
}

bool RecordedRun::awaits_more() {
  return awaits_speech() || (remade_ != nullptr && remade_->is_behind());
}

// A slice of what a language model said up to the shown step.
bool RecordedRun::read_speech() {
  if (!awaits_speech()) return false;
  const auto read = reader().speech(speech_->last_step(), kSpeechStepsASlice);
  if (!read.ok()) {
    speech_trouble_ = read.error().message;
    return true;
  }
  for (const StepSpeech& step : read.value()) speech_->add(step);
  speech_is_whole_ = read.value().size() < kSpeechStepsASlice;
  return true;
}

bool RecordedRun::awaits_speech() const {
  return speech_ && !speech_is_whole_ && speech_trouble_.empty() && speech_->last_step() < step();
}

ShownSpeech RecordedRun::speech() {
  if (!speech_ && info().header.kind == SessionKind::judge)
    return {.why =
                "No language model ran when this trace was judged; hybridscope judge TRACE "
                "--weights DIR --record FILE.db keeps which of its states differ."};
  if (!speech_)
    return {.why =
                "No language model ran when this session was recorded; hybridscope run "
                "SCENARIO --weights DIR --record FILE.db keeps what one says."};
  return {.speech = &*speech_, .is_awaited = awaits_speech(), .why = speech_trouble_};
}

const RequestLog* RecordedRun::requests() const {
  if (level() == RecordLevel::counts || requests_unreadable_) return nullptr;
  if (const std::int64_t read = std::exchange(requests_read_, last_known_step());
      read < requests_read_) {
    const Status taken = reader().each_request_change(
        read, [this](const RequestChange& change) { requests_.take(change); });
    requests_unreadable_ = !taken.ok();
    if (!taken.ok())
      trouble_ = "which requests wait, and their hits, are not known: " + taken.error().message;
  }
  return requests_unreadable_ ? nullptr : &requests_;
}

const CheckedRun* RecordedRun::made_here() const {
  const LiveRun* made = remade_ == nullptr || mark_index(marks_, step()) >= RemadeRun::kMostSteps
                            ? nullptr
                            : remade_->at(step());
  return made == nullptr ? nullptr : &made->player().run();
}

const CacheReport* RecordedRun::cache_report() {
  const bool asks = remade_ != nullptr && level() != RecordLevel::counts &&
                    static_cast<std::int64_t>(marks_.size()) <= RemadeRun::kMostSteps;
  LiveRun* made = asks ? remade_->up_to(last_known_step()) : nullptr;
  return made == nullptr ? nullptr : made->cache_report();
}

// After more findings were loaded: those that begin a chain.
void RecordedRun::list_undecided() {
  const std::vector<FindingChain> chains = finding_log_.chains();
  for (; num_listed_ < chains.size(); ++num_listed_)
    if (is_first_of(chains[num_listed_], num_listed_) && ++num_roots_ <= kMostDecisions)
      undecided_.push_back(num_listed_);
}

// False: none is left.
bool RecordedRun::decide_next() {
  if (undecided_.empty()) return false;
  const std::size_t index = undecided_.front();
  const Finding& finding = findings()[index].finding;
  undecided_.erase(undecided_.begin());
  if (beside() == nullptr) return false;
  const auto record = beside()->read(finding.step);
  if (!record.ok()) return false;
  note_decision(index, record.value()->trace, reader().own_count(finding.request, finding.step));
  return true;
}

// The bookmarks of a recorded session: they are kept in its file.

namespace {

// The window is blocked while another program writes to the file.
constexpr std::int64_t kBookmarkTimeoutMs = 1000;

}  // namespace

void RecordedRun::show_bookmarks(const std::vector<Bookmark>& kept) {
  bookmarks_.clear();
  for (const Bookmark& bookmark : kept)
    bookmarks_.push_back({.step = bookmark.step, .note = bookmark.note});
}

// The file is open for writing only during the change.
Status RecordedRun::change_bookmarks(const std::function<Status(SessionFile&)>& change) {
  auto file = SessionFile::open(place_.file, FileAccess::write, kBookmarkTimeoutMs);
  if (!file.ok()) return file.error();
  const Status done = change(file.value());
  const auto kept = file.value().bookmarks(info().session);
  if (kept.ok()) show_bookmarks(kept.value());
  return done;
}

Status RecordedRun::set_bookmark(std::int64_t step, std::string_view note) {
  return change_bookmarks([&](SessionFile& file) -> Status {
    const auto kept = file.bookmarks(info().session);
    if (!kept.ok()) return kept.error();
    std::int64_t last = 0;
    for (const Bookmark& bookmark : kept.value())
      if (bookmark.step == step) last = bookmark.bookmark;
    if (last != 0) return file.set_bookmark_note(info().session, last, note);
    const auto added = file.add_bookmark(info().session, step, note);
    return added.ok() ? Status(Ok{}) : Status(added.error());
  });
}

Status RecordedRun::remove_bookmarks(std::int64_t step) {
  return change_bookmarks([&](SessionFile& file) -> Status {
    const auto kept = file.bookmarks(info().session);
    if (!kept.ok()) return kept.error();
    bool found = false;
    for (const Bookmark& bookmark : kept.value()) {
      if (bookmark.step != step) continue;
      found = true;
      if (Status removed = file.remove_bookmark(info().session, bookmark.bookmark); !removed.ok())
        return removed;
    }
    if (found) return Ok{};
    return Error{ErrorKind::not_found, fmt::format("step {} has no bookmark", step)};
  });
}

namespace {

// Moves on by a step, and if it is made for the first time, compares it with the recorded one.
// False: there is none. Errors: those of the run and of ForkGuard.
Result<bool> step_as_recorded(LiveRun& run, ForkGuard& guard, StepDigester& digester) {
  const std::int64_t known = run.last_known_step();
  const Result<bool> moved = run.forward();
  if (!moved.ok() || !moved.value() || run.step() <= known) return moved;
  const StepView view = run.view();
  if (Status same = guard.check(view.trace.step, digester.digest(view.trace, view.findings));
      !same.ok())
    return same.error();
  return true;
}

}  // namespace

Result<std::unique_ptr<LiveRun>> make_edited_session(const ShownRun& session, const RunPlan& plan,
                                                     std::int64_t step) {
  const auto recorded = session.source();
  if (!recorded.ok()) return recorded.error();
  auto run = LiveRun::create(plan, {.scope = session.header().check});
  if (!run.ok()) return run.error();
  ForkGuard guard(*recorded.value(), step + 1);
  StepDigester digester(run.value()->names().request);
  while (run.value()->step() < step) {
    const Result<bool> moved = step_as_recorded(*run.value(), guard, digester);
    if (!moved.ok()) return moved.error();
    if (moved.value()) continue;
    if (Status same = guard.finish(); !same.ok()) return same.error();
    break;
  }
  return run;
}

LiveRun* RemadeRun::at(std::int64_t step) {
  wanted_step_ = step;
  return run_ != nullptr && step <= limit_ && run_->step() == step ? run_.get() : nullptr;
}

LiveRun* RemadeRun::up_to(std::int64_t last) {
  wanted_last_ = last;
  return run_ != nullptr && last <= limit_ && run_->last_known_step() >= last ? run_.get()
                                                                              : nullptr;
}

bool RemadeRun::begin() {
  auto recorded = open_session_source(recording_);
  auto run = LiveRun::create(plan_, {.scope = scope_, .logs_writes = false});
  if (!recorded.ok() || !run.ok()) return false;
  recorded_ = std::move(recorded).value();
  run_ = std::move(run).value();
  run_->limit_history(kHistoryBytes);
  guard_.emplace(*recorded_, std::numeric_limits<std::int64_t>::max());
  digester_.emplace(run_->names().request);
  return true;
}

std::int64_t RemadeRun::goal() const {
  const std::int64_t last = std::min(wanted_last_, limit_);
  return num_known() < last ? last : std::min(wanted_step_, limit_);
}

void RemadeRun::go_on() {
  if (run_ == nullptr && !begin()) {
    limit_ = 0;
    return;
  }
  const std::int64_t goal = this->goal();
  if (const std::int64_t way = std::min(goal, num_known()); way > 0 && way != run_->step())
    if (!run_->begin_go_to(way) && !run_->go_to(way).ok()) limit_ = 0;
  std::size_t num_rows = 0;
  for (int i = 0; i < kStepsASlice && num_rows < kRowsASlice && run_->step() < goal; ++i) {
    const std::int64_t before = run_->step();
    const Result<bool> moved = step_as_recorded(*run_, *guard_, *digester_);
    if (!moved.ok() || !moved.value()) {
      limit_ = before;
      break;
    }
    num_rows += run_->view().trace.rows.size();
  }
}

}  // namespace hybridscope
