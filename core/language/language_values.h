// What a language model on an engine's decisions said and held, as values.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/kv_cache_spec.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

// How prompt rows are computed, and with it what can be compared (numerics: two forms).
enum class NumericForm : std::uint8_t {
  recurrent,  // token after token: every bit is equal to the lone run's
  chunked,    // by the builders' chunks: logits are within a tolerance of the lone run's
};

// A state that is not what the lone run of its request has after as many tokens.
struct StateDifference {
  std::int64_t step = 0;
  RequestId request{};
  std::int32_t row = -1;
  std::int32_t group = -1;
  std::int32_t layer = -1;  // of the model
  StateKind kind = StateKind::temporal;
  bool is_read = false;  // found where a row read it; else where a row had written it
  std::int32_t block = 0;
  std::int32_t num_tokens = 0;     // of the request, that should be in it
  std::int64_t first_element = 0;  // of the state; conv: of the W - 1 positions
  std::int64_t num_elements = 0;   // that differ
  double largest = 0;              // of the absolute differences; infinite: one is no number
  friend bool operator==(const StateDifference&, const StateDifference&) = default;
};

// A place that was held against the lone run's states, in every layer of its group that has such a
// state. What differs is a StateDifference.
struct ComparedState {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t block = 0;
  StateKind kind = StateKind::temporal;
  bool is_read = false;
  friend bool operator==(const ComparedState&, const ComparedState&) = default;
};

// One token that a row sampled, beside what the lone run says there.
struct SpokenToken {
  std::int64_t step = 0;
  std::int32_t position = 0;  // in the request's sequence
  std::int32_t id = 0;        // of the run
  std::int32_t twin_id = 0;   // of the lone run that has the same tokens before it
  bool was_drafted = false;   // accepted, not sampled
  float margin = 0;           // of the lone run: best logit minus second best
  double divergence = 0;      // KL(lone run || run), nats
  // A prompt needed the token before it was generated: it is not the model's choice.
  bool is_forced = false;
  // The most probable tokens of the run and of the lone run, as many as were asked for.
  std::vector<TokenChance> likely = {};
  std::vector<TokenChance> twin_likely = {};
  friend bool operator==(const SpokenToken&, const SpokenToken&) = default;
};

// A draft that a verify row did not accept; placeholders are none.
struct RejectedDraft {
  std::int64_t step = 0;
  std::int32_t position = 0;  // in the request's sequence, where another token came
  std::int32_t id = 0;
  friend bool operator==(const RejectedDraft&, const RejectedDraft&) = default;
};

struct SpokenText {
  RequestId request{};
  std::vector<std::int32_t> prompt;
  std::vector<SpokenToken> tokens;
  std::vector<RejectedDraft> rejected;  // by step
  // What the lone run goes on with by itself, as many tokens as `tokens` has; empty: equal to it.
  std::vector<std::int32_t> alone;
  // Some of its tokens are not the model's choice: a prompt needed them before they were generated.
  bool is_forced = false;
  friend bool operator==(const SpokenText&, const SpokenText&) = default;
};

// What one step adds to the texts, each list in the order in which it happened.
struct StepWords {
  struct Prompt {
    RequestId request{};
    std::vector<std::int32_t> ids;
    friend bool operator==(const Prompt&, const Prompt&) = default;
  };
  struct Token {
    RequestId request{};
    SpokenToken token;
    friend bool operator==(const Token&, const Token&) = default;
  };
  struct Draft {
    RequestId request{};
    RejectedDraft draft;
    friend bool operator==(const Draft&, const Draft&) = default;
  };
  struct Taken {
    RequestId request{};
    std::int32_t num_tokens = 0;
    friend bool operator==(const Taken&, const Taken&) = default;
  };
  struct Alone {
    RequestId request{};
    std::vector<std::int32_t> ids;
    friend bool operator==(const Alone&, const Alone&) = default;
  };
  std::vector<Prompt> prompts;  // of requests that had their first row
  std::vector<Token> tokens;    // that rows sampled
  std::vector<Draft> rejected;
  std::vector<Taken> taken;  // tokens that the scheduler appended
  // What the lone run of a request that has parted from it goes on with by itself (AloneTexts).
  std::vector<Alone> alone = {};
  friend bool operator==(const StepWords&, const StepWords&) = default;
};

// What is kept of a step of a language model's run.
struct StepSpeech {
  std::int64_t step = 0;
  StepWords words = {};
  std::vector<ComparedState> compared = {};  // reads before writes; none with form chunked
  std::vector<StateDifference> states = {};  // of `compared`
  friend bool operator==(const StepSpeech&, const StepSpeech&) = default;
};

}  // namespace hybridscope
