// What other steps of a session tell, read beside the shown one a few at a time.
#include <algorithm>
#include <utility>

#include "gui/model/finding_chains.h"
#include "gui/model/recorded_run.h"

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

}  // namespace hybridscope
