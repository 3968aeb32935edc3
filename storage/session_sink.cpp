#include "storage/session_sink.h"

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

}  // namespace hybridscope
