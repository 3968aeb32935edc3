// Runs a language model on the decisions of a live run, beside it: on a thread of its own, from the
// first step on, as far as the window shows the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/language/language_values.h"
#include "core/language/spoken_texts.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/spoken_words.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {

// What a language model said and held in the known steps of a run that is shown.

class Speech {
 public:
  explicit Speech(SpeechInfo info) : info_(std::move(info)) {}

  const SpeechInfo& info() const { return info_; }
  // Steps come in order.
  void add(StepSpeech step) { steps_.push_back(std::move(step)); }

  std::int64_t last_step() const { return steps_.empty() ? 0 : steps_.back().step; }
  std::span<const StepSpeech> up_to(std::int64_t step) const;
  // What was said in the step; null: nothing is known of it.
  const StepSpeech* at(std::int64_t step) const;
  // What rows have sampled up to the step, by request.
  std::vector<SpokenText> texts_at(std::int64_t step);

 private:
  SpeechInfo info_;
  std::vector<StepSpeech> steps_;
  SpokenTexts texts_;  // of the first num_told_
  std::size_t num_told_ = 0;
};

// What is known of a run's language model.
struct ShownSpeech {
  Speech* speech = nullptr;  // null: see `why`
  bool is_awaited = false;   // the shown step, or one before it, is being computed
  std::string why = {};      // why nothing is known, or not all of it, as a sentence
};

// The options of a run whose words are kept.
CheckedRunOptions speaking_options(const LanguageModel& speaking, CheckScope scope);

class LiveSpeech {
 public:
  LiveSpeech(std::shared_ptr<const LanguageModel> speaking, const RunPlan& plan, CheckScope scope);
  LiveSpeech(const LiveSpeech&) = delete;
  LiveSpeech& operator=(const LiveSpeech&) = delete;
  // Waits for the end of the step that is being computed.
  ~LiveSpeech();

  const std::shared_ptr<const LanguageModel>& speaking() const { return speaking_; }
  // What the model says; null: it cannot run here, trouble() says why.
  Speech* speech() { return speech_ ? &*speech_ : nullptr; }
  const Speech* speech() const { return speech_ ? &*speech_ : nullptr; }
  const std::string& trouble() const { return trouble_; }

  // Computes the steps up to this one that are not known.
  void want(std::int64_t step);
  // Takes what is ready, after a millisecond at most. True: something is, or no more comes.
  bool take();
  // Is the step not known, and can it still come?
  bool lacks(std::int64_t step) const { return !has_ended_ && speech_->last_step() < step; }
  // Is a step being computed?
  bool is_busy() const { return working_.valid(); }

  // The run continues with another plan behind the step, which is equal up to there. Goes on from
  // there if no later step is known, else begins again.
  void continue_with(const RunPlan& plan, std::int64_t step);

 private:
  // Shared with the thread.
  struct Work {
    std::shared_ptr<const LanguageModel> speaking;
    std::optional<RunPlan> plan;  // until the run is made
    CheckScope scope = CheckScope::step;
    std::optional<CheckedRun> run;  // the thread's while it works
    std::atomic<std::int64_t> target = 0;
    std::atomic<bool> is_dropped = false;
    std::mutex mutex;
    std::vector<StepSpeech> made;  // not taken yet; by mutex
    std::string trouble;           // likewise
    bool has_ended = false;        // likewise: no step can come
  };
  static void compute(Work& work);
  void begin(const RunPlan& plan);
  void drop();

  std::shared_ptr<const LanguageModel> speaking_;
  CheckScope scope_;
  std::optional<Speech> speech_;
  std::string trouble_;
  bool has_ended_ = false;
  std::shared_ptr<Work> work_;
  std::future<void> working_;
  std::vector<std::future<void>> dropped_;  // that may still run
};

}  // namespace hybridscope
