// SessionSink, which gives the steps of a run to a session's writer, and the queue between their
// threads.

#include "storage/session_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/language/language_values.h"
#include "core/language/spoken_texts.h"
#include "sessions/explain/explain_finding.h"

namespace hybridscope {
namespace {

using Milliseconds = std::chrono::milliseconds;

// A step that somebody waits for is in the file after about this time, also when many come.
constexpr Milliseconds kWatchedPatience(20);
constexpr Milliseconds kWatchedTransaction(100);

}  // namespace

Result<std::unique_ptr<SessionSink>> SessionSink::begin(SessionHeader header, const Names& names,
                                                        Options options) {
  header.digest_version = kDigestVersion;
  SessionWriter::Options writing{
      .program = std::move(options.program),
      .request_name = names.request,
      .finding_text = [names](const Finding& finding) { return explain_finding(finding, names); }};
  if (options.committed) {
    writing.patience = kWatchedPatience;
    writing.transaction = kWatchedTransaction;
    writing.committed = std::move(options.committed);
  }
  auto writer = SessionWriter::begin(options.place, header, std::move(writing));
  if (!writer.ok()) return writer.error();
  return std::unique_ptr<SessionSink>(new SessionSink(
      StepRecorder(header.config, header.level, names.request), std::move(writer).value()));
}

SessionSink::SessionSink(StepRecorder recorder, std::unique_ptr<SessionWriter> writer)
    : recorder_(std::move(recorder)), writer_(std::move(writer)) {}

Result<Going> SessionSink::take(const CheckedStep& step) {
  StepRecord& record = writer_->next_record();
  recorder_.record(step.trace, step.findings, step.writes, record);
  if (step.speech != nullptr) record.speech = *step.speech;
  ++num_steps_;
  if (const Status pushed = writer_->push(); !pushed.ok()) return pushed.error();
  return Going::on;
}

Status SessionSink::finish(SessionStatus status, const std::string& reason) {
  return writer_->finish(status, reason);
}

Result<std::optional<SpokenWords>> spoken_session(SessionReader& reader, const Names& names) {
  const std::optional<SpeechInfo>& language = reader.info().header.language;
  if (!language) return std::optional<SpokenWords>();
  const auto speech = reader.speech();
  if (!speech.ok()) return speech.error();
  SpokenTexts texts;
  bool keeps_words = false;
  for (const StepSpeech& step : speech.value()) {
    texts.add(step.words);
    keeps_words = keeps_words || !step.words.prompts.empty() || !step.words.tokens.empty();
  }
  if (!keeps_words) return std::optional<SpokenWords>();
  return std::optional(spoken_words(texts.taken(), language->vocab_size, names));
}

std::unique_ptr<QueuedStep> StepQueue::take_free() {
  std::unique_lock lock(mutex_);
  space_.wait(lock, [&] { return num_out_ < sizes_.max_steps || failure_; });
  ++num_out_;
  if (free_.empty()) return std::make_unique<QueuedStep>();
  auto step = std::move(free_.back());
  free_.pop_back();
  return step;
}

void StepQueue::push(std::unique_ptr<QueuedStep> step) {
  const std::lock_guard lock(mutex_);
  if (failure_) {
    --num_out_;
    free_.push_back(std::move(step));
    return;
  }
  if (queued_.empty()) oldest_ = Clock::now();
  queued_.push_back(std::move(step));
  // Waking the writer for every step would cost both threads more than the step itself.
  if (queued_.size() == 1 || queued_.size() == sizes_.wake) work_.notify_one();
}

void StepQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  work_.notify_one();
}

std::optional<Error> StepQueue::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

StepQueue::Steps StepQueue::take_locked(std::size_t at_most) {
  Steps steps;
  while (!queued_.empty() && steps.size() < at_most) {
    steps.push_back(std::move(queued_.front()));
    queued_.pop_front();
  }
  oldest_ = Clock::now();  // a lower bound of waiting: the others' times are not kept
  return steps;
}

StepQueue::Steps StepQueue::take(std::chrono::milliseconds patience, std::size_t at_most) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return closed_ || queued_.size() >= sizes_.wake; };
  work_.wait(lock, [&] { return closed_ || !queued_.empty(); });
  if (!is_ready()) work_.wait_until(lock, oldest_ + patience, is_ready);
  return take_locked(at_most);
}

StepQueue::Steps StepQueue::take_queued(std::size_t at_most) {
  const std::lock_guard lock(mutex_);
  return take_locked(at_most);
}

void StepQueue::give_back(Steps steps) {
  const std::lock_guard lock(mutex_);
  num_out_ -= steps.size();
  for (auto& step : steps) free_.push_back(std::move(step));
  space_.notify_one();
}

void StepQueue::fail(Error error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
  num_out_ -= queued_.size();
  queued_.clear();
  space_.notify_all();
}

}  // namespace hybridscope
