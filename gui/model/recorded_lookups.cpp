// What other steps of a session tell, read beside the shown one a few at a time.
#include <algorithm>
#include <utility>

#include "gui/model/finding_chains.h"
#include "gui/model/recorded_run.h"

namespace hybridscope {

bool RecordedRun::load_more() {
  hit_reads_left_ = kHitReadsASlice;
  const bool lacks_hits = std::exchange(lacks_hits_, false);
  const bool lacks_activities = std::exchange(lacks_activities_, false);
  const bool has_read_speech = read_speech();
  return decide_next() || lacks_activities || lacks_hits || has_read_speech;
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

bool RecordedRun::may_read_hits() {
  if (hit_reads_left_ > 0) return --hit_reads_left_ >= 0;
  lacks_hits_ = true;
  return false;
}

// The request's admissions; null: not read yet. In steps that have come since they were read, a
// request was admitted again if it was preempted once more.
const RecordedRun::Admissions* RecordedRun::admissions_of(RequestId request) {
  auto found = admissions_of_.find(request);
  if (found != admissions_of_.end() && step() <= found->second.read_up_to) return &found->second;
  const auto scheduled = std::ranges::find(trace_->scheduled, request, &ScheduledTrace::request);
  const std::int32_t run = scheduled == trace_->scheduled.end() ? -1 : scheduled->run;
  if (found != admissions_of_.end() && (run < 0 || run == found->second.run)) return &found->second;
  if (!may_read_hits()) return nullptr;
  auto steps = reader().admissions(request);
  Admissions read{.read_up_to = last_known_step(), .run = run};
  if (steps.ok()) read.steps = std::move(steps).value();
  return &(admissions_of_[request] = std::move(read));
}

std::int32_t RecordedRun::num_hit_tokens(RequestId request) {
  if (level() == RecordLevel::counts) return -1;
  const Admissions* admissions = admissions_of(request);
  if (admissions == nullptr) return -1;
  const auto behind = std::ranges::upper_bound(admissions->steps, step());
  if (behind == admissions->steps.begin()) return -1;
  const std::int64_t admitted = *std::prev(behind);
  auto hits = hits_.find(admitted);
  if (hits == hits_.end()) {
    if (!may_read_hits()) return -1;
    hits = hits_.emplace(admitted, std::map<RequestId, std::int32_t>()).first;
    if (const StepRecord* record = schedule_beside(admitted); record != nullptr)
      for (const ScheduledTrace& scheduled : record->trace.scheduled)
        if (scheduled.admission != Admission::running)
          hits->second[scheduled.request] = scheduled.num_hit_tokens;
  }
  const auto hit = hits->second.find(request);
  return hit == hits->second.end() ? -1 : hit->second;
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
  finding_log_.set_decision(
      index, decision_behind(finding,
                             {.trace = record.value()->trace,
                              .names = names_,
                              .own = reader().own_count(finding.request, finding.step)},
                             findings()));
  return true;
}

}  // namespace hybridscope
