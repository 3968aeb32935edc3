// What a language model said up to a step, put together out of what each step said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/language/language_values.h"
#include "core/numeric/hybrid_model.h"
#include "core/numeric/lone_run.h"

namespace hybridscope {

class SpokenTexts {
 public:
  // Steps come in order.
  void add(const StepWords& words);

  // The texts of all requests that had a row, by request, as far as the scheduler took their
  // tokens. `alone` is as long as the tokens, or empty: it was not said.
  std::vector<SpokenText> taken() const;
  // The texts with the tokens that rows sampled and the scheduler has not taken yet.
  std::vector<SpokenText> sampled() const;

 private:
  struct Request {
    SpokenText text;
    std::int64_t num_taken = 0;
  };
  std::map<RequestId, Request> requests_;
};

// True: some token is not what the lone run of the same tokens chooses.
bool parts_from_lone_run(const SpokenText& text);

// What the lone runs of requests say by themselves, beside a run that has parted from them: said on
// step by step, so that a run's text and its lone run's are shown as they come.

class AloneTexts {
 public:
  // `model` must outlive it.
  explicit AloneTexts(const HybridModel& model) : model_(model) {}

  // Adds to the step's words what lone runs go on with, so that each is as long as the run's text.
  // Costs a lone run of the prompt in the step in which a request parts, and a token of it for each
  // token behind. Steps come in order.
  void add_to(StepWords& words);

 private:
  struct Request {
    std::vector<std::int32_t> prompt;
    bool has_parted = false;
    std::unique_ptr<LoneSpeaker> lone;
    std::size_t num_said = 0;  // by the lone run
  };
  std::vector<std::int32_t> say_on(Request& request, std::size_t num_tokens) const;

  const HybridModel& model_;
  std::map<RequestId, Request> requests_;
};

}  // namespace hybridscope
