// The values of a step as what changed since the step before, small enough for thousands of steps
// in one page: report_data.js puts them together again.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hybridscope {

// Texts that differ only in their numbers, and in words with digits such as names, share a
// template: a thousand decisions of one rule cost one template and a thousand lists of numbers.
class SharedTexts {
 public:
  // [template, argument...]: a number stands for itself, -1 - i for words()[i].
  nlohmann::json add(std::string_view text);

  // A text is its template with the arguments in place of each NUL.
  const nlohmann::json& templates() const { return templates_; }
  const nlohmann::json& words() const { return words_; }

 private:
  std::unordered_map<std::string, std::size_t> template_places_;
  std::unordered_map<std::string, std::size_t> word_places_;
  nlohmann::json templates_ = nlohmann::json::array();
  nlohmann::json words_ = nlohmann::json::array();
};

// The members of `now` that `before` lacks or has otherwise, texts as SharedTexts has them; null: a
// member is gone. A list is an object whose keys are its indices. Requires: a member that is an
// object or a list in one step is so in all; no value is null.
nlohmann::json changes(const nlohmann::json& before, const nlohmann::json& now, SharedTexts& texts);

}  // namespace hybridscope
