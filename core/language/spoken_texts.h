// What a language model said up to a step, put together out of what each step said.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/language/language_values.h"

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

}  // namespace hybridscope
