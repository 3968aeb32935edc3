// One sequence of tokens alone: no batch, no cache, memory of its own. What it leaves after each
// token is what every other run of the same tokens must leave (numerics: two forms and health).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numeric/model_forward.h"

namespace hybridscope {

// What one recurrent layer holds after a number of tokens; empty for attention.
struct LayerStates {
  std::vector<float> conv;      // [W - 1, channels] oldest first
  std::vector<float> temporal;  // as a block holds it
  friend bool operator==(const LayerStates&, const LayerStates&) = default;
};

class LoneRun {
 public:
  // `model` must outlive it.
  explicit LoneRun(const HybridModel& model);

  // Runs the next tokens in one pass. Logits of them are there until the next call.
  void extend(std::span<const std::int32_t> token_ids);
  // [vocab] behind token i of the last call.
  std::vector<float> logits(std::int32_t i) const;

  std::int32_t num_tokens() const { return num_tokens_; }
  // [layers]
  std::vector<LayerStates> states() const;
  // Goes on behind `num_tokens` tokens with these recurrent states; keys and values stay.
  void go_on_from(const std::vector<LayerStates>& states, std::int32_t num_tokens);

 private:
  void reserve(std::int32_t num_tokens);
  std::vector<LayerMemory> memory();

  const HybridModel& model_;
  ModelForward forward_;
  std::int32_t num_tokens_ = 0;
  std::int32_t num_slots_ = 0;                     // of keys and values, block 0 aside
  std::vector<std::vector<float>> conv_;           // [layers][2 blocks]
  std::vector<std::vector<float>> temporal_;       // [layers][2 blocks]
  std::vector<std::vector<float>> keys_, values_;  // [layers][1 + blocks]
};

// What a lone run of a prompt goes on with, greedily.
class LoneSpeaker {
 public:
  // `model` must outlive it. Requires: a prompt.
  LoneSpeaker(const HybridModel& model, std::span<const std::int32_t> prompt)
      : lone_(model), not_run_(prompt.begin(), prompt.end()) {}
  std::int32_t next();

 private:
  LoneRun lone_;
  std::vector<std::int32_t> not_run_;  // its last tokens
};

// The first `count` tokens of a LoneSpeaker.
std::vector<std::int32_t> say_alone(const HybridModel& model, std::span<const std::int32_t> prompt,
                                    std::size_t count);

}  // namespace hybridscope
